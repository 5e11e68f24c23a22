# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, auto_pickle=False
"""Rows, units, points: twins of functions in `solve`, where each is explained and written in Python, and of a class in
`solve.sqp.points`.
"""

import numpy as np

cimport numpy as cnp
from libc.math cimport INFINITY, NAN, exp2, fabs, isfinite, log2, rint, sqrt
from libc.stdlib cimport qsort
from scipy.linalg.cython_blas cimport ddot, dgemv

from .arrays cimport Numbers, broken, data, finite, highest, length, mask, matrix, plain, size_of, vector
from .records cimport Point

from . import home

cnp.import_array()

cdef cnp.ndarray NOTHING = vector(0)

cdef int STEP = 1
cdef double ONE = 1.0


def largest(v):
    cdef cnp.ndarray x = plain(v)
    return size_of(data(x), length(x))


cpdef bint squares_finite(array) except -1:
    cdef cnp.ndarray x = plain(array)
    cdef int n = length(x)
    return isfinite(ddot(&n, data(x), &STEP, data(x), &STEP))


def all_finite(array):
    cdef cnp.ndarray x = plain(array)
    return finite(data(x), length(x))


def broken_rows(r, floor):
    cdef cnp.ndarray r_ = plain(r), f_ = plain(floor)
    cdef int m = length(r_), i
    cdef cnp.ndarray v = vector(m)
    for i in range(m):
        data(v)[i] = broken(data(r_)[i], data(f_)[i])
    return v


cpdef double worst_broken(r, floor, target) except? -1.0:
    cdef cnp.ndarray r_ = plain(r), f_ = plain(floor), t_ = plain(target)
    cdef double worst = 0.0, entry
    cdef int i
    for i in range(length(r_)):
        entry = broken(data(r_)[i], data(f_)[i]) / max(1.0, fabs(data(t_)[i]))
        if entry > worst:
            worst = entry
        elif entry != entry:
            return entry
    return worst


cpdef tuple residuals(values, source, sign, target):
    cdef cnp.ndarray c_ = plain(values), s_ = plain(sign), t_ = plain(target), o_
    cdef int m = length(t_), i
    cdef cnp.ndarray r = vector(m)
    cdef double total = 0.0
    cdef cnp.int64_t* index
    if source is None:
        for i in range(m):
            data(r)[i] = (data(c_)[i] - data(t_)[i]) * data(s_)[i]
            total += data(r)[i]
    else:
        o_ = source
        index = <cnp.int64_t*> cnp.PyArray_DATA(o_)
        for i in range(m):
            data(r)[i] = (data(c_)[index[i]] - data(t_)[i]) * data(s_)[i]
            total += data(r)[i]
    return r, isfinite(total)


def gathered(source, entries, int size):
    cdef cnp.ndarray e_ = plain(entries), o_ = source, total = vector(size)
    cdef cnp.int64_t* index = <cnp.int64_t*> cnp.PyArray_DATA(o_)
    cdef int i
    for i in range(size):
        data(total)[i] = 0.0
    for i in range(length(e_)):
        data(total)[index[i]] += data(e_)[i]
    return total


def lagrangian_gradient(g, J, by_value, z):
    cdef cnp.ndarray g_ = plain(g), J_ = plain(J), y_ = plain(by_value), z_ = plain(z)
    cdef int n = length(g_), k = length(y_), j
    cdef cnp.ndarray residual = vector(n)
    for j in range(n):
        data(residual)[j] = data(g_)[j] + data(z_)[j]
    if k:
        dgemv(b"N", &n, &k, &ONE, data(J_), &n, data(y_), &STEP, &ONE, data(residual), &STEP)
    return residual


def extremes(v):
    cdef cnp.ndarray x = plain(v)
    cdef int n = length(x), j
    cdef double low = INFINITY, high = -INFINITY
    for j in range(n):
        if data(x)[j] < low:
            low = data(x)[j]
        if data(x)[j] > high:
            high = data(x)[j]
    return low, high


cpdef tuple row_gradients(J, source, sign, free, units, double shortest):
    """Rows of a dense Jacobian in the free variables and their units, and their lengths."""
    cdef cnp.ndarray J_ = plain(J), s_ = plain(sign), u_ = plain(units), o_, f_
    cdef int m = length(s_), n = length(u_), i, j
    cdef cnp.npy_intp row, all_variables = cnp.PyArray_DIM(J_, 1)
    cdef cnp.ndarray A = matrix(m, n), lengths = vector(m)
    cdef Numbers pA = data(A), pu = data(u_), given
    cdef double factor, total = 0.0, square
    cdef cnp.int64_t* index = NULL
    cdef cnp.int64_t* variable = NULL
    if source is not None:
        o_ = source
        index = <cnp.int64_t*> cnp.PyArray_DATA(o_)
    if free is not None:
        f_ = free
        variable = <cnp.int64_t*> cnp.PyArray_DATA(f_)
    for i in range(m):
        row = i if index == NULL else index[i]
        given = data(J_) + row * all_variables
        factor = data(s_)[i]
        if variable == NULL:
            for j in range(n):
                pA[i * n + j] = given[j] * factor * pu[j]
        else:
            for j in range(n):
                pA[i * n + j] = given[variable[j]] * factor * pu[j]
        square = sqrt(ddot(&n, pA + i * n, &STEP, pA + i * n, &STEP))
        total += square
        data(lengths)[i] = square if square >= shortest else 1.0
    return A, lengths, isfinite(total)


cpdef cnp.ndarray shifted(x, d, double t, lower, upper, bint bounded, double held, double rounded):
    cdef cnp.ndarray x_ = plain(x), d_ = plain(d), l_ = plain(lower), u_ = plain(upper)
    cdef int n = length(x_), i
    cdef cnp.ndarray new = vector(n)
    cdef Numbers px = data(x_), pd = data(d_), pl = data(l_), pu = data(u_), pn = data(new)
    cdef double at_bound, rounding, moved
    if not bounded:
        for i in range(n):
            pn[i] = px[i] + t * pd[i]
        return new
    at_bound = held * fabs(t) * size_of(pd, n)
    for i in range(n):
        moved = px[i] + t * pd[i]
        rounding = at_bound if px[i] == pl[i] or px[i] == pu[i] else rounded * fabs(t * pd[i])
        if moved - pl[i] <= rounding:
            moved = pl[i]
        if pu[i] - moved <= rounding:
            moved = pu[i]
        pn[i] = moved
    return new


def bound_multipliers(z, x, lower, upper):
    cdef cnp.ndarray z_ = plain(z), x_ = plain(x), l_ = plain(lower), u_ = plain(upper)
    cdef int n = length(x_), j
    cdef cnp.ndarray kept = vector(n)
    cdef double own, gap, worst = 0.0, outside = 0.0
    for j in range(n):
        own = data(z_)[j]
        if (own < 0.0 and not isfinite(data(l_)[j])) or (own > 0.0 and not isfinite(data(u_)[j])):
            own = 0.0
        data(kept)[j] = own
        gap = own * (data(u_)[j] - data(x_)[j]) if own > 0.0 else own * (data(x_)[j] - data(l_)[j]) if own else own
        if fabs(gap) > worst or gap != gap:
            worst = fabs(gap)
        gap = max(data(l_)[j] - data(x_)[j], data(x_)[j] - data(u_)[j])
        if gap > outside or gap != gap:
            outside = gap
    return kept, worst, outside


def rows_judged(errors, sign, floor, target, multipliers, double tolerance, rounding):
    cdef cnp.ndarray e_ = plain(errors), s_ = plain(sign), f_ = plain(floor), t_ = plain(target), o_
    cdef cnp.ndarray y_ = plain(multipliers)
    cdef int m = length(e_), i
    cdef double worst = 0.0, slack = 0.0, entry
    cdef bint met = True
    cdef Numbers allowed = NULL
    if rounding is not None:
        o_ = plain(rounding)
        allowed = data(o_)
    for i in range(m):
        entry = broken(data(s_)[i] * data(e_)[i], data(f_)[i])
        if entry > worst or entry != entry:
            worst = entry
        if not entry <= tolerance * max(1.0, fabs(data(t_)[i])) + (allowed[i] if allowed else 0.0):
            met = False
        entry = fabs(data(y_)[i] * data(e_)[i])
        if entry > slack or entry != entry:
            slack = entry
    return met, worst, slack


cdef int compare(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const double*> a)[0], y = (<const double*> b)[0]
    return (x > y) - (x < y)


cdef double median(double* x, int n) noexcept nogil:
    """Of numbers that are sorted thereby."""
    qsort(x, n, sizeof(double), compare)
    return x[n // 2] if n % 2 else 0.5 * (x[n // 2 - 1] + x[n // 2])


cdef int even(double* w, double* size, double* steep, double* work, int m, int n, int sweeps) noexcept nogil:
    """Put the logarithms of the units in which the columns of w (m, n) are alike into ``steep``."""
    cdef Numbers columns = work
    cdef Numbers change = work + n
    cdef double *row
    cdef double top, middle
    cdef int i, j, sweep, present = 0, sized = 0
    for j in range(n):
        columns[j], steep[j] = 1.0, 0.0
    for sweep in range(sweeps):
        for j in range(n):
            change[j] = 0.0
        for i in range(m):
            row = w + i * <size_t> n
            top = highest(row, n, 0.0)
            if top == 0.0:
                continue
            top = 1.0 / sqrt(top)
            for j in range(n):
                row[j] *= top
                change[j] = max(change[j], row[j])
        for j in range(n):
            change[j] = 1.0 / sqrt(change[j]) if change[j] > 0.0 else 0.0
            columns[j] *= change[j]
        for i in range(m):
            row = w + i * <size_t> n
            for j in range(n):
                row[j] *= change[j]
    for j in range(n):
        if columns[j] > 0.0:
            present += 1
            if size[j] > 0.0:
                change[sized] = size[j] / columns[j]
                sized += 1
    if not present:
        return 0
    if sized:
        middle = median(change, sized)
    else:
        for j in range(n):
            if columns[j] > 0.0:
                change[sized] = columns[j]
                sized += 1
        middle = 1.0 / median(change, sized)
    for j in range(n):
        if columns[j] > 0.0:
            steep[j] = log2(columns[j] * middle)
    return present


def units_of(gradient, jacobian, x, lower, upper, double band, double negligible, int sweeps):
    cdef cnp.ndarray g_ = plain(gradient), J_ = plain(jacobian), x_ = plain(x), l_ = plain(lower), u_ = plain(upper)
    cdef int n = length(g_), m = <int> cnp.PyArray_DIM(J_, 0) + 1, i, j, count = 0
    cdef cnp.ndarray units = vector(n), typical = vector(n), likely = vector(n), M_ = matrix(m, n), work_ = matrix(4, n)
    cdef Numbers M = data(M_)
    cdef Numbers size = data(work_)
    cdef Numbers steep = size + n
    cdef Numbers work = steep + n
    cdef double usual = 1.0, own, agreed, beyond, top
    for j in range(n):
        M[j] = fabs(data(g_)[j])
        own = data(u_)[j] - data(l_)[j]
        size[j] = own if data(x_)[j] == 0.0 and isfinite(own) else fabs(data(x_)[j])
        if size[j] > 0.0:
            work[count] = size[j]
            count += 1
    for i in range((m - 1) * n):
        M[n + i] = fabs(data(J_)[i])
    if count:
        usual = median(work, count)
    # Entries that are rounding say nothing of a variable that is 0.
    for j in range(n):
        data(likely)[j] = 0.0
    for i in range(m):
        top = negligible * highest(M + i * <size_t> n, n, 0.0)
        for j in range(n):
            if M[i * <size_t> n + j] > top:
                data(likely)[j] = 1.0
    for j in range(n):
        size[j] /= usual
    even(M, size, steep, work, m, n, sweeps)
    for j in range(n):
        own = log2(size[j]) if size[j] > 0.0 else min(steep[j], 0.0)
        agreed = min(fabs(steep[j]), fabs(own)) if steep[j] * own > 0.0 else 0.0
        if steep[j] < 0.0:
            agreed = -agreed
        agreed += min(log2(usual), 0.0)
        beyond = max(fabs(agreed) - log2(band), 0.0)
        data(units)[j] = exp2(rint(beyond if agreed > 0.0 else -beyond))
        data(typical)[j] = exp2(agreed)
        if data(x_)[j] != 0.0:
            data(likely)[j] = fabs(data(x_)[j])
        else:
            data(likely)[j] *= usual * exp2(steep[j])
    return units, typical, likely


def linearized_totals(b, change, v, floor):
    cdef cnp.ndarray b_ = plain(b), c_ = plain(change), v_ = plain(v), f_ = plain(floor)
    cdef double left = 0.0, now = 0.0
    cdef int i
    for i in range(length(b_)):
        left += broken(data(b_)[i] + data(c_)[i], data(f_)[i])
        now += data(v_)[i]
    return left, now


def holding(errors, target, equality, x, lower, upper, double near):
    cdef cnp.ndarray e_ = plain(errors), t_ = plain(target), q_ = equality
    cdef cnp.ndarray x_ = plain(x), l_ = plain(lower), u_ = plain(upper)
    cdef list rows = [], below = [], above = []
    cdef int i
    for i in range(length(e_)):
        if mask(q_)[i] or fabs(data(e_)[i]) <= near * max(1.0, fabs(data(t_)[i])):
            rows.append(i)
    for i in range(length(x_)):
        if data(l_)[i] < data(u_)[i]:
            if data(x_)[i] <= data(l_)[i]:
                below.append(i)
            if data(x_)[i] >= data(u_)[i]:
                above.append(i)
    return rows, below, above


cdef class Points:
    def __cinit__(self, *_):
        here = home("Points")
        self.accuracy, self.rounded, self.shortest = here.SUBPROBLEM_ACCURACY, here.ROUNDED, here.SHORTEST_ROW

    cpdef expand(self, x):
        if self.scaled:
            x = x * self.units
        if self.places is None:
            return x
        full = self.full.copy()
        full[self.places] = x
        return full

    cpdef Point at(self, x):
        cdef Point point = Point.__new__(Point)
        cdef bint defined
        cdef double worst
        answer = self.evaluation.at(self.expand(x))
        values = answer.values
        r, defined = residuals(values, self.source, self.sign, self.target)
        point.x, point.f, point.r, point.values = x, answer.objective, r, values
        point.g = point.A = point.length = point.gradient = point.A_noise = NOTHING
        if not defined or not isfinite(point.f):
            point.f = NAN
        if self.least > 0.0:
            worst = self.worst(point)
            if worst < self.least:
                self.least, self.least_violated = worst, point
        return point

    cpdef double worst(self, Point point) except? -1.0:
        return INFINITY if point.f != point.f else worst_broken(point.r, self.floor, self.target)

    cpdef moved(self, x, d, double t):
        return shifted(x, d, t, self.lower, self.upper, self.bounded, self.accuracy, self.rounded)

    cpdef bint differentiate(self, Point point) except -1:
        cdef bint defined
        self.pending = point
        answer = self.evaluation.differentiated(self.expand(point.x))
        self.pending = None
        gradient, jacobian, noise = answer.gradient, answer.jacobian, answer.noise
        J = jacobian if isinstance(jacobian, cnp.ndarray) else jacobian.toarray()
        A, lengths, defined = row_gradients(J, self.source, self.sign, self.places, self.units, self.shortest)
        g = self.reduced(gradient)
        if not (defined and squares_finite(g)):
            return False
        point.g, point.A, point.gradient, point.jacobian = g, A, gradient, jacobian
        point.length = lengths
        if noise is not None:
            self.take_noise(point, noise)
        return True

    cpdef spaced(self):
        spacing = self.evaluation.spacing
        if isinstance(spacing, float):
            return spacing
        rows = spacing[1 : 1 + length(self.sign)] if self.source is None else spacing[1:][self.source]
        return np.append(spacing[0], rows)

    cpdef reduced(self, g):
        own = g if self.places is None else g[self.places]
        return own * self.units if self.scaled else own

    def take_noise(self, Point point, noise):
        sizes = np.maximum(self.typical, np.abs(point.x * self.units))
        noise = float((self.units / sizes).max(initial=0.0)) * noise
        point.g_noise = noise[0]
        point.A_noise = noise[1 : 1 + length(self.sign)] if self.source is None else noise[1:][self.source]
