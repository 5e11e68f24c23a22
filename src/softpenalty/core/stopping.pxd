from .records cimport Iterate, Local, Measure, Plan, State, Step


cpdef Iterate seen(State state, Local local, Step step, Plan plan, target, spacing, settings)
cpdef bint nothing_left(Measure measure, tolerances) except -1
cpdef reason(Iterate iterate, State state, tolerances, Local local, Step step)
