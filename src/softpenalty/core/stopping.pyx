# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, auto_pickle=False
"""What the stop tests look at, and the tests: twins of functions in `solve.sqp.stopping` and `solve.tolerances`, where
each is explained and written in Python.
"""

cimport numpy as cnp
from libc.math cimport fabs
from scipy.linalg.cython_blas cimport dgemv

from .arrays cimport Numbers, data, highest, length, plain, size_of, vector
from .records cimport Iterate, Local, Measure, Plan, Point, Sizes, State, Step

from . import home

cnp.import_array()

cdef double ONE = 1.0
cdef int STEP = 1


cdef double left(Numbers residual, Numbers g, int n, double unit, Numbers steepest, Numbers reach, double enough,
                 double seen_share, double* of_own) noexcept nogil:
    """The residual relative to the gradient, and in what each variable moves, which goes to ``of_own``."""
    cdef double size = unit, worth = 0.0, own = 0.0, top = 0.0, slope, change, part, far = 0.0
    cdef int i
    for i in range(n):
        slope = fabs(g[i])
        if slope > size:
            size = slope
        change = seen_share * steepest[i]
        if slope > change:
            change = slope
        change *= reach[i]
        if change > worth:
            worth = change
        if reach[i] > far:
            far = reach[i]
        part = fabs(residual[i])
        if part > top or part != part:
            top = part
        part *= reach[i]
        if part > own or part != part:
            own = part
    if enough > size:
        size = enough
    if enough * far > worth:
        worth = enough * far
    if size == 0.0:
        size = 1.0
    if worth == 0.0:
        worth = 1.0
    of_own[0] = own / worth
    return top / size


cdef inline double larger(double top, double own) noexcept nogil:
    return own if own > top or own != own else top


def relative_residual(residual, g, double unit, steepest, reach, double enough, double seen_share, double own_share):
    cdef cnp.ndarray e_ = plain(residual), g_ = plain(g), s_ = plain(steepest), h_ = plain(reach)
    cdef double own, top = left(data(e_), data(g_), length(g_), unit, data(s_), data(h_), enough, seen_share, &own)
    return larger(top, own / own_share)


cpdef Iterate seen(State state, Local local, Step step, Plan plan, target, spacing, settings):
    cdef Point point = state.point
    cdef Sizes sizes = state.sizes
    cdef double f_unit = state.f_unit
    cdef Measure measure = Measure.__new__(Measure)
    cdef Iterate iterate = Iterate.__new__(Iterate)
    cdef cnp.ndarray l_ = plain(point.length), t_ = plain(target), g_ = plain(point.g), r_ = plain(point.r)
    cdef cnp.ndarray y_ = plain(step.y), z_ = plain(step.z), d_ = plain(step.d), s_, n_
    cdef cnp.ndarray h_ = plain(sizes.reach), e_ = plain(sizes.steepest)
    cdef int m = length(local.v), n = length(g_), i
    cdef cnp.ndarray residual = vector(n), own = vector(m)
    cdef Numbers pr = data(residual)
    cdef double violation = 0.0, worst = 0.0, entry, relative, target_size, noise = point.g_noise, enough, unit
    cdef double rounding, tolerance, noise_factor, seen_share, own_share, f_size, x_size = local.x_size, steep
    cdef double common, merit = 0.0, size, top, by_reach
    cdef bint one = isinstance(spacing, float)
    tolerance, rounding, noise_factor, seen_share, own_share = settings
    for i in range(n):
        pr[i] = data(g_)[i] + data(z_)[i]
    if m:
        dgemv(b"N", &n, &m, &ONE, data(local.a), &n, data(y_), &STEP, &ONE, pr, &STEP)
    if one:
        common = spacing
    else:
        s_ = plain(spacing)
        common = data(s_)[0]
    for i in range(m):
        target_size = fabs(data(t_)[i])
        size = target_size + fabs(data(r_)[i]) + data(l_)[i] * x_size
        merit += data(plan.own_weights)[i] * size * (common if one else data(s_)[1 + i])
        if target_size < 1.0:
            target_size = 1.0
        entry = data(local.v)[i] * data(l_)[i]
        relative = (entry - rounding * x_size * data(l_)[i]) / target_size
        if relative > violation or relative != relative:
            violation = relative
        if entry > worst or entry != entry:
            worst = entry
        data(own)[i] = data(y_)[i] / data(l_)[i]
    n_ = plain(point.A_noise)
    if length(n_):
        for i in range(m):
            noise += fabs(data(own)[i]) * data(n_)[i]
    enough = noise_factor * noise / tolerance
    f_size = max(f_unit, fabs(point.f))
    if f_size == 0.0:
        f_size = 1.0
    merit += common * (fabs(point.f) + local.g_size * x_size)
    unit, steep = sizes.unit, size_of(data(e_), n)
    top = left(pr, data(g_), n, unit, data(e_), data(h_), enough, seen_share, &by_reach)
    measure.violation, measure.distance = violation, highest(data(local.v), m, 0.0) / x_size
    measure.stationarity, measure.by_variable = larger(top, by_reach / own_share), larger(top, by_reach)
    measure.predicted, measure.curved = plan.predicted / f_size, plan.curved / f_size
    measure.step, measure.rounding = size_of(data(d_), n) / x_size, merit / f_size
    measure.noise = noise_factor * noise / (steep if steep != 0.0 else 1.0)
    iterate.point, iterate.y, iterate.z, iterate.measure, iterate.sizes = point, own, step.z, measure, sizes
    iterate.violation, iterate.enough = worst, enough
    iterate.iteration, iterate.trials = state.iteration, state.trials
    return iterate


cdef class Limits:
    """Constants of the stop tests, read from the modules in which these are written in Python."""

    cdef double noise, attainable, share, rounded, huge, tiny_step, almost, fall
    cdef int stalled
    cdef object converged, unbounded, attained, no_progress

    def __cinit__(self):
        tests, here = home("converged"), home("reason")
        self.noise, self.attainable, self.share = tests.NOISE_LIMIT, tests.ATTAINABLE, tests.ATTAINABLE_SHARE
        self.rounded, self.huge, self.tiny_step = tests.ROUNDED_PREDICTION, here.HUGE_MULTIPLIER, here.TINY_STEP
        self.almost, self.fall, self.stalled = here.ALMOST_FEASIBLE, here.UNBOUNDED_FALL, here.STALLED_ITERATIONS
        self.converged, self.unbounded = here.Status.CONVERGED, here.Status.UNBOUNDED
        self.attained, self.no_progress = here.Status.ATTAINED, here.Status.NO_PROGRESS


cdef Limits limits = None


cdef inline Limits known_limits():
    global limits
    if limits is None:
        limits = Limits()
    return limits


cpdef bint feasible(Measure measure, tolerances) except -1:
    return measure.violation <= tolerances.feasibility and measure.distance <= tolerances.distance


cpdef bint nothing_left(Measure measure, tolerances) except -1:
    cdef double enough = tolerances.objective
    cdef Limits limits = known_limits()
    return -limits.rounded * enough <= measure.predicted <= enough and measure.curved <= enough


cpdef bint converged(Measure measure, tolerances) except -1:
    if measure.stationarity > tolerances.stationarity or not feasible(measure, tolerances):
        return False
    if measure.noise > known_limits().noise:
        return False
    return nothing_left(measure, tolerances) or measure.step <= tolerances.step


cpdef bint attained(Measure measure, tolerances) except -1:
    cdef Limits limits = known_limits()
    cdef double visible = limits.attainable * measure.rounding
    cdef double stationarity = tolerances.stationarity
    if not feasible(measure, tolerances) or measure.noise > limits.noise:
        return False
    return (
        max(measure.stationarity, measure.by_variable) <= limits.share * stationarity
        and fabs(measure.predicted) <= visible and measure.curved <= visible
    )


cpdef reason(Iterate iterate, State state, tolerances, Local local, Step step):
    cdef Measure measure = iterate.measure
    cdef Limits limits = known_limits()
    cdef cnp.ndarray y_
    cdef double steep
    if converged(measure, tolerances):
        y_, steep = plain(step.y), (<Sizes> state.sizes).unit
        if size_of(data(y_), length(y_)) <= limits.huge * max(steep, local.g_size) or measure.step <= limits.tiny_step:
            return limits.converged
    if measure.violation > limits.almost:
        return None
    if (<Point> iterate.point).f < -limits.fall * max(1.0, fabs(state.f_start)):
        return limits.unbounded
    if state.stalled >= limits.stalled:
        return limits.attained if attained(measure, tolerances) else limits.no_progress
    return None
