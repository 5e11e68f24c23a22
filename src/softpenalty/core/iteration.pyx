# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One iteration between two evaluations, the subproblem and the curvature aside: what a step promises, what the
stop tests look at, and which merit it must decrease. Twins of records and functions in `solve.sqp` and
`solve.tolerances`, where each is explained and written in Python.
"""

cimport numpy as cnp
from libc.math cimport fabs, sqrt
from scipy.linalg.cython_blas cimport ddot, dgemv

from .arrays cimport Numbers, broken, data, highest, length, mask, matrix, plain, size_of, vector

cnp.import_array()

cdef double ONE = 1.0, ZERO = 0.0
cdef int STEP = 1
cdef cnp.ndarray NOTHING = vector(0)


cdef class Point:
    cdef public object x, r, g, A, length, values, gradient, jacobian, A_noise
    cdef public double f, g_noise

    def __init__(self, x, double f, r, g=NOTHING, A=NOTHING, length=NOTHING, values=NOTHING, gradient=NOTHING,
                 jacobian=None, double g_noise=0.0, A_noise=NOTHING):
        self.x, self.f, self.r, self.g, self.A, self.length = x, f, r, g, A, length
        self.values, self.gradient, self.jacobian = values, gradient, jacobian
        self.g_noise, self.A_noise = g_noise, A_noise


cdef class Local:
    cdef public cnp.ndarray a, b, v
    cdef public double g_size, x_size

    def __init__(self, a, b, v, double g_size, double x_size):
        self.a, self.b, self.v, self.g_size, self.x_size = a, b, v, g_size, x_size


cdef class Plan:
    cdef public cnp.ndarray change, weights, own_weights
    cdef public double slope, curved, penalty, predicted

    def __init__(self, change, double slope, double curved, weights, own_weights, double penalty, double predicted):
        self.change, self.slope, self.curved, self.weights = change, slope, curved, weights
        self.own_weights, self.penalty, self.predicted = own_weights, penalty, predicted


cdef class Search:
    cdef public object point
    cdef public double t
    cdef public int trials

    def __init__(self, point, double t, int trials):
        self.point, self.t, self.trials = point, t, trials


cdef class Measure:
    cdef public double violation, distance, stationarity, predicted, curved, step, noise, rounding, by_variable

    def __init__(self, double violation, double distance, double stationarity, double predicted, double curved,
                 double step, double noise=0.0, double rounding=0.0, double by_variable=0.0):
        self.violation, self.distance, self.stationarity = violation, distance, stationarity
        self.predicted, self.curved, self.step = predicted, curved, step
        self.noise, self.rounding, self.by_variable = noise, rounding, by_variable


def linearize(point, floor):
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
    cdef double x_size = size_of(data(x_), n)
    return Local(a, b, v, size_of(data(g_), n), x_size if x_size > 1.0 else 1.0)


def curvature_along(B, d):
    cdef cnp.ndarray B_ = plain(B), d_ = plain(d)
    cdef int n = length(d_)
    cdef cnp.ndarray product = vector(n)
    dgemv(b"T", &n, &n, &ONE, data(B_), &n, data(d_), &STEP, &ZERO, data(product), &STEP)
    return ddot(&n, data(product), &STEP, data(d_), &STEP)


def weigh_step(g, double curved, a, b, v, floor, d, y, weights, lengths, double factor, double share, double goal):
    cdef cnp.ndarray g_ = plain(g), a_ = plain(a), b_ = plain(b), v_ = plain(v)
    cdef cnp.ndarray f_ = plain(floor), d_ = plain(d), y_ = plain(y), w_ = plain(weights), l_ = plain(lengths)
    cdef int n = length(g_), m = length(b_), i
    cdef cnp.ndarray change = vector(m), w = vector(m), own = vector(m)
    cdef Numbers pc = data(change), pw = data(w)
    cdef double slope, predicted, needed, kept, fall, total = 0.0, penalty = 0.0, rise
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
    return Plan(change, slope, curved, w, own, penalty, predicted)


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
        cdef cnp.ndarray e_ = plain(errors), u_
        cdef double total = 0.0, error
        cdef int m = length(e_), i
        cdef cnp.npy_bool* equal = mask(self.equality)
        u_ = e_ if units is None else plain(units)
        for i in range(m):
            error = data(e_)[i] if units is None else data(e_)[i] / data(u_)[i]
            total += data(self.weights)[i] * broken(error, -1.0 if equal[i] else 0.0)
        return total


def chosen(equality, Local local, step, Plan plan, double alpha, double share):
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


def measures(Point point, Local local, step, Plan plan, sizes, target, spacing, double f_unit, settings):
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
    rounding, tolerance, noise_factor, seen_share, own_share = settings
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
    return Measure(
        violation,
        highest(data(local.v), m, 0.0) / x_size,
        larger(top, by_reach / own_share),
        plan.predicted / f_size,
        plan.curved / f_size,
        size_of(data(d_), n) / x_size,
        noise_factor * noise / (steep if steep != 0.0 else 1.0),
        merit / f_size,
        larger(top, by_reach),
    ), own, worst, enough
