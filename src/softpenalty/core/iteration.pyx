# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, auto_pickle=False
"""The iteration, subproblem, stop tests and curvature aside: what a step promises, which merit it must decrease, the
line search, and the loop around them. Twins of functions in `solve.sqp` and of a class in `solve.sqp.iteration`, where
each is explained and written in Python.
"""

cimport numpy as cnp
from libc.math cimport INFINITY, fabs, isfinite, sqrt
from scipy.linalg.cython_blas cimport ddot, dgemv

from .arrays cimport Numbers, broken, data, length, mask, matrix, plain, size_of, vector
from .records cimport Iterate, Local, Measure, Plan, Point, Search, Sizes, State, Step
from .rows cimport Points
from .stopping cimport nothing_left, reason, seen

from . import home

cnp.import_array()

cdef double ONE = 1.0, ZERO = 0.0
cdef int STEP = 1


cpdef Local linearize(Point point, floor):
    cdef cnp.ndarray A_ = plain(point.A), r_ = plain(point.r), l_ = plain(point.length), f_ = plain(floor)
    cdef cnp.ndarray g_ = plain(point.g), x_ = plain(point.x)
    cdef int m = length(r_), n = length(g_), i, j
    cdef cnp.ndarray a = matrix(m, n), b = vector(m), v = vector(m)
    cdef Numbers pa = data(a), pA = data(A_), pl = data(l_), pb = data(b), pv = data(v)
    cdef double unit
    for i in range(m):
        unit = pl[i]
        for j in range(n):
            pa[i * n + j] = pA[i * n + j] / unit
        pb[i] = data(r_)[i] / unit
        pv[i] = broken(pb[i], data(f_)[i])
    cdef Local local = Local.__new__(Local)
    local.a, local.b, local.v, local.g_size = a, b, v, size_of(data(g_), n)
    local.x_size = size_of(data(x_), n)
    if local.x_size < 1.0:
        local.x_size = 1.0
    return local


cpdef Plan weigh_step(point, B, Local local, Step step, floor, weights, double factor, double share, double goal):
    cdef cnp.ndarray g_ = plain(point.g), a_ = plain(local.a), b_ = plain(local.b), v_ = plain(local.v)
    cdef cnp.ndarray f_ = plain(floor), d_ = plain(step.d), y_ = plain(step.y), w_ = plain(weights)
    cdef cnp.ndarray l_ = plain(point.length), B_, product
    cdef double curved
    cdef int n = length(g_), m = length(b_), i
    cdef cnp.ndarray change = vector(m), w = vector(m), own = vector(m)
    cdef Numbers pc = data(change), pw = data(w)
    cdef double slope, predicted, needed, kept, fall, total = 0.0, penalty = 0.0, rise
    if isinstance(B, cnp.ndarray):
        B_, product = plain(B), vector(n)
        dgemv(b"T", &n, &n, &ONE, data(B_), &n, data(d_), &STEP, &ZERO, data(product), &STEP)
        curved = ddot(&n, data(product), &STEP, data(d_), &STEP)
    else:
        curved = B
    if m:
        dgemv(b"T", &n, &m, &ONE, data(a_), &n, data(d_), &STEP, &ZERO, pc, &STEP)
    slope = ddot(&n, data(g_), &STEP, data(d_), &STEP)
    predicted = 0.0
    for i in range(m):
        fall = data(v_)[i] - broken(data(b_)[i] + pc[i], data(f_)[i])
        needed = factor * fabs(data(y_)[i])
        kept = 0.5 * (data(w_)[i] * data(l_)[i] + needed)
        pw[i] = kept if kept > needed else needed
        predicted += pw[i] * fall
        total += fall
    predicted -= slope
    if predicted < share * curved and total > 0.0:
        rise = (goal * curved - predicted) / total
        predicted = 0.0
        for i in range(m):
            fall = data(v_)[i] - broken(data(b_)[i] + pc[i], data(f_)[i])
            pw[i] += rise
            predicted += pw[i] * fall
        predicted -= slope
    for i in range(m):
        data(own)[i] = pw[i] / data(l_)[i]
        penalty += pw[i] * data(v_)[i]
    cdef Plan plan = Plan.__new__(Plan)
    plan.change, plan.slope, plan.curved, plan.weights = change, slope, curved, w
    plan.own_weights, plan.penalty, plan.predicted = own, penalty, predicted
    return plan


cdef class BalancedMerit:
    cdef cnp.ndarray slope, root
    cdef double corner

    def __init__(self, y, weights, equality, double alpha):
        cdef cnp.ndarray y_ = plain(y), w_ = plain(weights), e_ = equality
        cdef int m = length(y_), i
        cdef double size
        self.slope, self.root, self.corner = y_, vector(m), 4.0 * alpha * alpha
        for i in range(m):
            size = fabs(data(y_)[i])
            if mask(e_)[i]:
                size *= 2.0
                if 0.5 * data(w_)[i] > size:
                    size = 0.5 * data(w_)[i]
            data(self.root)[i] = size

    def penalty(self, errors, units=None):
        return self.of(errors, units)

    cdef double of(self, errors, units) except? -1.0:
        cdef cnp.ndarray e_ = plain(errors), u_
        cdef Numbers slope = data(self.slope), root = data(self.root)
        cdef double total = 0.0, e
        cdef int m = length(e_), i
        if units is None:
            for i in range(m):
                total += balanced(data(e_)[i], slope[i], root[i], self.corner)
        else:
            u_ = plain(units)
            for i in range(m):
                total += balanced(data(e_)[i] / data(u_)[i], slope[i], root[i], self.corner)
        return total


cdef inline double balanced(double error, double slope, double root, double corner) noexcept nogil:
    return slope * error + root * sqrt(error * error + corner)


cdef class ExactMerit:
    cdef cnp.ndarray weights, equality

    def __init__(self, weights, equality):
        self.weights, self.equality = plain(weights), equality

    def penalty(self, errors, units=None):
        return self.of(errors, units)

    cdef double of(self, errors, units) except? -1.0:
        cdef cnp.ndarray e_ = plain(errors), u_
        cdef double total = 0.0, error
        cdef int m = length(e_), i
        cdef cnp.npy_bool* equal = mask(self.equality)
        u_ = e_ if units is None else plain(units)
        for i in range(m):
            error = data(e_)[i] if units is None else data(e_)[i] / data(u_)[i]
            total += data(self.weights)[i] * broken(error, -1.0 if equal[i] else 0.0)
        return total


cpdef tuple choose(equality, Local local, Step step, Plan plan, double alpha, double share):
    cdef BalancedMerit merit = BalancedMerit(step.y, plan.weights, equality, alpha)
    cdef Numbers slope = data(merit.slope), root = data(merit.root)
    cdef double before = 0.0, after = 0.0, error, fall
    cdef int i
    for i in range(length(local.b)):
        error = data(local.b)[i]
        before += balanced(error, slope[i], root[i], merit.corner)
        after += balanced(error + data(plan.change)[i], slope[i], root[i], merit.corner)
    fall = before - after - plan.slope
    if fall >= share * plan.curved:
        return merit, fall
    return ExactMerit(plan.weights, equality), plan.predicted


cpdef tuple row_of(Iterate iterate, sign, record):
    cdef Measure measure = iterate.measure
    return (
        iterate.iteration, record, (<Point> iterate.point).f, iterate.violation, measure.violation,
        measure.stationarity, measure.step, iterate.trials, iterate.y, sign,
    )


cpdef Point take_in(State state, new, start, int remembered):
    cdef Point old = state.point, to = new
    cdef Sizes sizes = state.sizes
    cdef cnp.ndarray s_ = plain(sizes.steepest), h_ = plain(sizes.reach), o_ = plain(start), x_ = plain(to.x)
    cdef cnp.ndarray g_ = plain(to.g), p_ = plain(old.x)
    cdef int n = length(x_), j
    cdef cnp.ndarray steeper = vector(n), farther = vector(n)
    cdef double size, far, top = 0.0, moved = 0.0, change
    for j in range(n):
        size = fabs(data(x_)[j] - data(p_)[j])
        if size > moved or size != size:
            moved = size
        size = fabs(data(g_)[j])
        if size > top:
            top = size
        data(steeper)[j] = size if size > data(s_)[j] else data(s_)[j]
        far = fabs(data(x_)[j])
        size = fabs(data(x_)[j] - data(o_)[j])
        if size > far:
            far = size
        data(farther)[j] = far if far > data(h_)[j] else data(h_)[j]
    top = min(top, 1.0)
    sizes.unit = max(top, sizes.unit)
    sizes.steepest, sizes.reach = steeper, farther
    state.reaches = (*state.reaches[1 - remembered:], moved)
    change = min(1.0, fabs(to.f - state.f_start))
    state.f_unit = max(state.f_unit, change)
    state.point = new
    return old


def total_broken(r, floor, unit):
    return all_broken(r, floor, unit)


cdef double all_broken(r, floor, unit) except? -1.0:
    cdef cnp.ndarray r_ = plain(r), f_ = plain(floor), u_ = plain(unit)
    cdef double total = 0.0
    cdef int i
    for i in range(length(r_)):
        total += broken(data(r_)[i], data(f_)[i]) / data(u_)[i]
    return total


cdef inline double cost(merit, errors, units) except? -1.0:
    if type(merit) is BalancedMerit:
        return (<BalancedMerit> merit).of(errors, units)
    return (<ExactMerit?> merit).of(errors, units)


cpdef tuple lengthened(model, point, d, new, double predicted, double t, int trials, double longer, double most):
    cdef cnp.ndarray x_ = plain(point.x), d_ = plain(d), l_ = plain(model.lower), u_ = plain(model.upper), to
    cdef int n = length(x_), trial = 1, j
    cdef double f = point.f, lowest = new.f, excess, farther, far, own
    while trial < trials:
        excess = lowest - f + predicted * t
        farther = predicted * t / (2.0 * excess) if excess > 0.0 else INFINITY
        if farther < longer:
            break
        far, to = t * min(farther, most), vector(n)
        for j in range(n):
            own = data(x_)[j] + far * data(d_)[j]
            if own < data(l_)[j] or own > data(u_)[j]:
                return new, t, trial
            data(to)[j] = own
        other = model.at(to)
        trial += 1
        own = other.f
        if not own < lowest:
            break
        new, t, lowest = other, far, own
    return new, t, trial


cpdef Search search(model, point, d, merit, double predicted, double t, double far, unit, bint lengthen, settings):
    cdef double armijo, rounding, least, most, retreat, visible, shortest, longer, lengthening
    cdef double start, slack, value, excess, parabola, f
    cdef int trials, trial = 0
    cdef bint defined
    cdef Points points = model if isinstance(model, Points) else None
    x, lengths, floor = point.x, point.length, model.floor
    armijo, rounding, least, most, retreat, trials, visible, shortest, longer, lengthening = settings
    f = point.f
    start = f + cost(merit, point.r, lengths)
    spacing = model.spaced()
    slack = max(rounding * fabs(start), (spacing if isinstance(spacing, float) else spacing[0]) * fabs(f))
    if t <= shortest:
        shortest *= t
    while trial < trials:
        trial += 1
        new = model.at(model.moved(x, d, t)) if points is None else points.at(points.moved(x, d, t))
        f = new.f
        value = INFINITY
        defined = f == f
        if defined and all_broken(new.r, floor, unit) <= far:
            value = f + cost(merit, new.r, lengths)
            if value <= start - armijo * t * predicted + slack:
                if lengthen and trial == 1 and predicted * t > visible * slack:
                    new, t, trial = lengthened(model, point, d, new, predicted, t, trials, longer, lengthening)
                if model.differentiate(new):
                    return Search(new, t, trial)
                defined = False
        if not defined:
            t *= retreat
        else:
            excess = value - start + predicted * t
            parabola = predicted * t * t / (2.0 * excess) if isfinite(excess) and excess > 0.0 else 0.0
            t = min(max(parabola, least * t), most * t)
        if t < shortest:
            break
    return Search(None, t, trial)


cdef tuple to_bounds(lower, upper, x):
    cdef cnp.ndarray l_ = plain(lower), u_ = plain(upper), x_ = plain(x)
    cdef int n = length(x_), j
    cdef cnp.ndarray below = vector(n), above = vector(n)
    for j in range(n):
        data(below)[j] = data(l_)[j] - data(x_)[j]
        data(above)[j] = data(u_)[j] - data(x_)[j]
    return below, above


def steps_to(lower, upper, x):
    return to_bounds(lower, upper, x)


cdef class Iterating:
    cdef public object strategy, curvature, tolerances, watch, subproblem
    cdef public Points model
    cdef public State state
    # Constants and functions of the module in which it is written in Python.
    cdef double alpha, balanced_share, exact_share, exact_goal, almost_feasible, stalled_fall, tiny_step
    cdef double first_reach, reach_growth, short_step
    cdef int reaches, spanned
    cdef object record, converged, infeasible
    cdef tuple settings, search_settings

    def __cinit__(self, *_):
        here = home("Iterating")
        self.alpha, self.balanced_share = here.ALPHA, here.BALANCED_SHARE
        self.exact_share, self.exact_goal = here.EXACT_SHARE, here.EXACT_GOAL
        self.almost_feasible, self.stalled_fall = here.ALMOST_FEASIBLE, here.STALLED_FALL
        self.tiny_step, self.first_reach, self.reach_growth = here.TINY_STEP, here.FIRST_REACH, here.REACH_GROWTH
        self.short_step, self.reaches, self.spanned = here.SHORT_STEP, here.REACHES, here.SPANNED
        self.record, self.settings, self.search_settings = here.record, here.SETTINGS, here.SEARCH
        self.converged, self.infeasible = here.Status.CONVERGED, here.Status.INFEASIBLE

    def run(self):
        cdef State state = self.state
        cdef Point point
        cdef Local local
        cdef Step step
        cdef Plan plan
        cdef Points model = self.model
        while True:
            point = state.point
            local = linearize(point, model.floor)
            below, above = to_bounds(model.lower, model.upper, point.x)
            step = self.subproblem.solve(point.g, state.B, local.a, local.b, below, above)
            iterate = None
            if step is None:
                status = self.without_step()
            else:
                plan = self.weigh(local, step)
                iterate = self.see(local, step, plan)
                status = self.stop(iterate, local, step, plan)
                if status is None:
                    status = self.advance(local, step, plan, iterate)
                elif status is self.converged and self.refine(local):
                    status = None
            if status is not None and not self.revive(status):
                return self.end(status, iterate)
            state.iteration += 1

    cpdef Plan weigh(self, Local local, Step step):
        cdef State state = self.state
        cdef Point point = state.point
        cdef Plan plan
        B, d = state.B, step.d
        if not isinstance(B, cnp.ndarray):
            B = d @ (B @ d) if length(local.b) else -(point.g @ d) - step.z @ d
        plan = weigh_step(point, B, local, step, self.model.floor, state.weights, self.strategy.weight,
                          self.exact_share, self.exact_goal)
        state.weights = plan.own_weights
        return plan

    cpdef Iterate iterate(self, Local local, Step step, Plan plan):
        cdef tuple settings = (self.tolerances.stationarity, *self.settings)
        return seen(self.state, local, step, plan, self.model.target, self.model.spaced(), settings)

    cpdef Iterate see(self, Local local, Step step, Plan plan):
        cdef Iterate iterate = self.iterate(local, step, plan)
        cdef double violation = (<Measure> iterate.measure).violation, feasibility = self.tolerances.feasibility
        rank = violation if violation > feasibility else feasibility, (<Point> iterate.point).f
        self.watch.keep(iterate, rank)
        return iterate

    cpdef stop(self, Iterate iterate, Local local, Step step, Plan plan):
        cdef State state = self.state
        cdef Point point = state.point
        cdef Measure measure = iterate.measure
        cdef bint feasible = measure.violation <= self.almost_feasible
        cdef double merit, fall
        if feasible:
            state.slow, state.least = 0, INFINITY
            merit = point.f + plan.penalty
            fall = self.stalled_fall if length(plain(point.x)) <= self.spanned else measure.rounding
            if merit < state.lowest - fall * max(state.f_unit, fabs(merit)):
                state.lowest, state.stalled = merit, 0
            else:
                state.stalled += 1
        status = reason(iterate, state, self.tolerances, local, step)
        if status is None and not feasible and self.is_stuck(iterate, local, plan):
            status = self.infeasible
        if status is not None:
            return status
        cdef Points model = self.model
        return self.watch.see(model.expand(point.x), row_of(iterate, model.sign, self.record))

    cpdef advance(self, Local local, Step step, Plan plan, Iterate iterate):
        cdef State state = self.state
        cdef Measure measure = iterate.measure
        cdef Search found
        model = self.model
        if nothing_left(measure, self.tolerances) and model.refine(state.point):
            return None
        if plan.predicted <= 0.0 or measure.step <= self.tiny_step:
            return self.without_promise(local, step, measure)
        merit, fall = choose(model.equality, local, step, plan, self.alpha, self.balanced_share)
        found = search(
            model, state.point, step.d, merit, fall, self.first_length(local.x_size, measure.step * local.x_size),
            state.far, state.unit, not length(local.b), self.search_settings,
        )
        state.trials = found.trials
        if found.point is None or found.t < self.short_step:
            return self.after_short_step(found, iterate, step)
        self.move(found.point, iterate, step)
        state.short_steps = state.failures = 0
        return None

    cpdef double first_length(self, double x_size, double size) except? -1.0:
        cdef double longest = 0.0, reach
        if self.state.reaches:
            for reach in self.state.reaches:
                longest = max(longest, reach)
            longest = max(self.reach_growth * longest, x_size)
        else:
            longest = self.first_reach * x_size
        return min(1.0, longest / size)

    cpdef move(self, new, Iterate iterate, Step step):
        old = take_in(self.state, new, self.model.start, self.reaches)
        self.state.B = self.curvature.move(old, new, iterate.y, step.corner)
