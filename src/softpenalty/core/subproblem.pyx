# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The penalty QP by active set and by path: twins of functions in `solve.sqp.subproblem`."""

import time

cimport numpy as cnp
from libc.math cimport fabs, isfinite, INFINITY
from libc.string cimport memcmp, memcpy
from scipy.linalg.cython_blas cimport daxpy, dcopy, ddot, dgemm, dgemv
from scipy.linalg.cython_lapack cimport dgesv, dgetrf, dgetri, dposv, dpotrf, dpotrs

from .arrays cimport Numbers, data, finite, length, mask, plain, size_of, vector
from .records cimport Memory, QPSolution, Step, reserve

cnp.import_array()

cdef double ONE = 1.0, MINUS = -1.0, NOTHING = 0.0
cdef int STEP = 1
cdef int FEW = 16  # unknowns up to which a loop takes less time than a call of LAPACK
cdef signed char BELOW = -1, CORNER = 0, ABOVE = 1


def hard_rows(equality, int n):
    cdef cnp.ndarray e_ = equality
    cdef cnp.npy_intp m = length(e_), count = m + n, i
    cdef cnp.ndarray states = cnp.PyArray_ZEROS(1, &count, cnp.NPY_INT8, 0), low = vector(m), high = vector(m)
    for i in range(m):
        if not mask(e_)[i]:
            (<signed char*> cnp.PyArray_DATA(states))[i] = BELOW
        data(low)[i], data(high)[i] = -INFINITY if mask(e_)[i] else 0.0, INFINITY
    return states, low, high


def boxes(low, high, lower, upper):
    cdef cnp.ndarray l_ = plain(low), h_ = plain(high), b_ = plain(lower), a_ = plain(upper)
    cdef int m = length(l_), n = length(b_)
    cdef cnp.ndarray below = vector(m + n), above = vector(m + n)
    memcpy(data(below), data(l_), m * sizeof(double))
    memcpy(data(below) + m, data(b_), n * sizeof(double))
    memcpy(data(above), data(h_), m * sizeof(double))
    memcpy(data(above) + m, data(a_), n * sizeof(double))
    return below, above


def stepped(QPSolution solution, equality, bint met):
    return step_of(solution.d, solution.y, solution.z, solution.states, equality, met)


cdef Step step_of(d, y, z, cnp.ndarray states, cnp.ndarray equality, bint met):
    cdef cnp.npy_intp m = length(equality), i
    cdef cnp.ndarray corner = cnp.PyArray_EMPTY(1, &m, cnp.NPY_BOOL, 0)
    cdef Step step = Step.__new__(Step)
    for i in range(m):
        mask(corner)[i] = (<signed char*> cnp.PyArray_DATA(states))[i] == CORNER or mask(equality)[i]
    step.d, step.y, step.z, step.corner, step.met = d, y, z, corner, met
    return step


cdef int eliminated(double* K, double* rhs, int n) noexcept nogil:
    """Solve the symmetric system K·x = rhs in place, rows pivoted; 1 where it is singular."""
    cdef int i, j, k, best
    cdef double top, factor
    for k in range(n):
        best, top = k, fabs(K[k * n + k])
        for i in range(k + 1, n):
            if fabs(K[i * n + k]) > top:
                best, top = i, fabs(K[i * n + k])
        if top == 0.0:
            return 1
        if best != k:
            for j in range(k, n):
                K[k * n + j], K[best * n + j] = K[best * n + j], K[k * n + j]
            rhs[k], rhs[best] = rhs[best], rhs[k]
        for i in range(k + 1, n):
            factor = K[i * n + k] / K[k * n + k]
            if factor != 0.0:
                for j in range(k + 1, n):
                    K[i * n + j] -= factor * K[k * n + j]
                rhs[i] -= factor * rhs[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            rhs[k] -= K[k * n + j] * rhs[j]
        rhs[k] /= K[k * n + k]
    return 0


def guessed_step(g, B, a, b, low, high, states, equality, int systems, double sign_tolerance, double smallest_step,
                 double residual):
    found = guessed(g, B, a, b, low, high, states, systems, sign_tolerance, smallest_step, residual)
    if found is None:
        return None
    d, y, z, states = found
    return step_of(d, y, z, states, equality, True), states


cpdef guessed(g, B, a, b, low, high, states, int systems, double sign_tolerance, double smallest_step,
              double residual):
    cdef cnp.ndarray g_ = plain(g), B_ = plain(B), a_ = plain(a), b_ = plain(b), l_ = plain(low), h_ = plain(high)
    cdef cnp.ndarray s_ = states
    cdef int n = length(g_), m = length(b_), size, k, c, i, j, system, info, total = m + n, one = 1
    cdef cnp.npy_intp count = total
    cdef cnp.ndarray found = cnp.PyArray_EMPTY(1, &count, cnp.NPY_INT8, 0)
    cdef cnp.ndarray d_ = vector(n), y_ = vector(m), z_ = vector(n)
    cdef Numbers pB = data(B_), pa = data(a_), pb = data(b_), pl = data(l_), ph = data(h_)
    cdef Numbers d = data(d_), y = data(y_), z = data(z_)
    cdef signed char* state = <signed char*> cnp.PyArray_DATA(found)
    cdef signed char* seen
    cdef double size_g = size_of(data(g_), n), size_d, size_y, primal, dual, tolerance, dual_tolerance, top, top_b
    cdef bint changed
    # K, rhs, gradient and errors; pivots, corner rows and free variables; the states seen.
    cdef size_t largest = n + (m if m < n else n)
    cdef Memory memory = reserve(largest * largest + largest + n + m, 2 * largest + n + systems * total)
    cdef Numbers K = memory.numbers, rhs = K + largest * largest, gradient = rhs + largest, errors = gradient + n
    cdef int* pivots = memory.integers
    cdef int* corner = pivots + largest
    cdef int* loose = corner + largest
    seen = <signed char*> (loose + n)
    memcpy(state, cnp.PyArray_DATA(s_), total)
    for system in range(systems):
        for i in range(system):
            if memcmp(seen + i * total, state, total) == 0:
                return None
        memcpy(seen + system * total, state, total)
        # Saturated multipliers and variables at a bound are known; the rest is solved for.
        c = k = 0
        for i in range(m):
            if state[i] == CORNER:
                if c == n:
                    return None
                corner[c] = i
                c += 1
                y[i] = 0.0
            else:
                y[i] = pl[i] if state[i] == BELOW else ph[i]
        for j in range(n):
            if state[m + j] == CORNER:
                loose[k] = j
                k += 1
                d[j] = 0.0
            else:
                d[j] = pl[m + j] if state[m + j] == BELOW else ph[m + j]
        if c > k or not finite(y, m) or not finite(d, n):
            return None
        size = k + c
        memcpy(gradient, data(g_), n * sizeof(double))
        for i in range(m):
            if y[i] != 0.0:
                daxpy(&n, y + i, pa + i * n, &STEP, gradient, &STEP)
        if k < n:
            for j in range(n):
                if d[j] != 0.0:
                    daxpy(&n, d + j, pB + j * n, &STEP, gradient, &STEP)
        for i in range(k):
            rhs[i] = gradient[loose[i]]
            if k == n:
                memcpy(K + i * size, pB + i * n, n * sizeof(double))
            else:
                for j in range(k):
                    K[i * size + j] = pB[loose[i] * n + loose[j]]
        for i in range(c):
            rhs[k + i] = pb[corner[i]]
            if k < n:
                rhs[k + i] += ddot(&n, pa + corner[i] * n, &STEP, d, &STEP)
            for j in range(k):
                K[(k + i) * size + j] = K[j * size + k + i] = pa[corner[i] * n + loose[j]]
            for j in range(c):
                K[(k + i) * size + k + j] = 0.0
        if size:
            if c:
                info = eliminated(K, rhs, size) if size <= FEW else 0
                if size > FEW:
                    dgesv(&size, &one, K, &size, pivots, rhs, &size, &info)
            else:
                dposv(b"L", &size, &one, K, &size, rhs, &size, &info)
            if info or not finite(rhs, size):
                return None
            for i in range(k):
                d[loose[i]] = -rhs[i]
            for i in range(c):
                y[corner[i]] = -rhs[k + i]
        # Errors of the rows and multipliers of the bounds: what must have the sign of the state.
        memcpy(errors, pb, m * sizeof(double))
        if m:
            dgemv(b"T", &n, &m, &ONE, pa, &n, d, &STEP, &ONE, errors, &STEP)
        for j in range(n):
            z[j] = 0.0
        if k < n:
            memcpy(gradient, data(g_), n * sizeof(double))
            for i in range(m):
                if y[i] != 0.0:
                    daxpy(&n, y + i, pa + i * n, &STEP, gradient, &STEP)
            for j in range(n):
                if state[m + j] != CORNER:
                    z[j] = -(gradient[j] + ddot(&n, pB + j * n, &STEP, d, &STEP))
        top = size_of(d, n)
        size_d = sign_tolerance * (top if top > smallest_step else smallest_step)
        top = size_of(y, m)
        size_y = sign_tolerance * (top if top > size_g else size_g)
        changed = False
        for i in range(total):
            if i < m:
                primal, dual, tolerance, dual_tolerance = errors[i], y[i], size_d, size_y
            else:
                primal, dual, tolerance, dual_tolerance = z[i - m], d[i - m], size_y, size_d
            if dual > ph[i] + dual_tolerance:
                state[i] = ABOVE
                changed = True
            elif dual < pl[i] - dual_tolerance:
                state[i] = BELOW
                changed = True
            elif state[i] * primal < -tolerance:
                state[i] = CORNER
                changed = True
        if not changed:
            top = top_b = 0.0
            for i in range(c):
                if fabs(errors[corner[i]]) > top:
                    top = fabs(errors[corner[i]])
                if fabs(pb[corner[i]]) > top_b:
                    top_b = fabs(pb[corner[i]])
            if top > residual * (top_b if top_b > 1.0 else 1.0):
                return None
            for i in range(m):
                y[i] = min(max(y[i], pl[i]), ph[i])
            for j in range(n):
                d[j] = min(max(d[j], pl[m + j]), ph[m + j])
            return d_, y_, z_, found
    return None


cdef class Path:
    """A point on the path; arrays have one entry a row, then one a finite upper bound, then a lower one."""

    cdef int n, m, uppers, count, pairs
    cdef double mu, size_g, size_b, smallest, shift
    cdef double *B
    cdef double *a
    cdef double *g
    cdef double *b
    cdef double *E
    cdef double *y
    cdef double *u
    cdef double *v
    cdef double *gap_high
    cdef double *gap_low
    cdef double *rp
    cdef double *ru
    cdef double *rv
    cdef double *dy
    cdef double *du
    cdef double *dv
    cdef double *r2
    cdef double *d
    cdef double *rd
    cdef double *dd
    cdef double *M
    cdef double *scaled
    cdef int *up
    cdef int *down
    cdef int *variable
    cdef Memory memory
    cdef object keep

    def __cinit__(self, g, B, a, b, low, high, double smallest, double shift, double slack_low, double slack_high):
        cdef cnp.ndarray g_ = plain(g), B_ = plain(B), a_ = plain(a), b_ = plain(b), l_ = plain(low), h_ = plain(high)
        cdef int n = length(g_), m = length(b_), M, i, j
        cdef Numbers pl = data(l_), ph = data(h_)
        cdef double top, slack, lowest, topmost
        self.keep = (g_, B_, a_, b_)
        self.n, self.m, self.smallest, self.shift = n, m, smallest, shift
        self.g, self.B, self.a = data(g_), data(B_), data(a_)
        M = m + 2 * n
        self.memory = reserve(14 * <size_t> M + 3 * n + n * <size_t> n + m * <size_t> n, 3 * <size_t> M)
        cdef Numbers numbers = self.memory.numbers
        self.b, self.E, self.y, self.u, self.v = numbers, numbers + M, numbers + 2 * M, numbers + 3 * M, numbers + 4 * M
        self.gap_high, self.gap_low, self.rp = numbers + 5 * M, numbers + 6 * M, numbers + 7 * M
        self.ru, self.rv, self.dy = numbers + 8 * M, numbers + 9 * M, numbers + 10 * M
        self.du, self.dv, self.r2 = numbers + 11 * M, numbers + 12 * M, numbers + 13 * M
        self.d = numbers + 14 * M
        self.rd, self.dd = self.d + n, self.d + 2 * n
        self.M = self.d + 3 * n
        self.scaled = self.M + n * <size_t> n
        self.up, self.down, self.variable = self.memory.integers, self.memory.integers + M, self.memory.integers + 2 * M
        self.count = m
        for i in range(m):
            self.b[i] = data(b_)[i]
        for j in range(n):
            if isfinite(ph[m + j]):
                self.variable[self.count] = j
                self.b[self.count] = -ph[m + j]
                self.count += 1
        self.uppers = self.count
        for j in range(n):
            if isfinite(pl[m + j]):
                self.variable[self.count] = j
                self.b[self.count] = pl[m + j]
                self.count += 1
        self.size_g = size_of(self.g, n)
        top = 0.0
        self.pairs = 0
        for i in range(self.count):
            self.up[i] = i < m and isfinite(ph[i])
            self.down[i] = i >= m or isfinite(pl[i])
            self.pairs += self.up[i] + self.down[i]
            if self.up[i] and fabs(ph[i]) > top:
                top = fabs(ph[i])
        if self.pairs == 0:
            self.pairs = 1
        if self.size_g == 0.0:
            self.size_g = top
        if self.size_g == 0.0:
            self.size_g = 1.0
        self.size_b = max(1.0, size_of(self.b, self.count))
        slack = 0.0
        for i in range(self.count):
            slack += fabs(self.b[i])
        slack = min(max(slack / self.count, slack_low), slack_high) if self.count else 1.0
        for i in range(self.count):
            lowest = pl[i] if i < m else 0.0
            topmost = ph[i] if i < m else INFINITY
            self.y[i] = 0.0 if lowest < 0.0 else lowest + min(self.size_g, 0.5 * (topmost - lowest))
            self.gap_high[i] = topmost - self.y[i] if self.up[i] else 1.0
            self.gap_low[i] = self.y[i] - lowest if self.down[i] else 1.0
            self.u[i] = max(self.b[i], 0.0) + slack if self.up[i] else 0.0
            self.v[i] = max(-self.b[i], 0.0) + slack if self.down[i] else 0.0
        for j in range(n):
            self.d[j] = 0.0
        self.measure()

    cdef void pull(self, const double* weights, double* total) noexcept:
        """Add Aᵀ·weights to ``total``."""
        cdef int i
        if self.m:
            dgemv(b"N", &self.n, &self.m, &ONE, self.a, &self.n, <double*> weights, &STEP, &ONE, total, &STEP)
        for i in range(self.m, self.uppers):
            total[self.variable[i]] += weights[i]
        for i in range(self.uppers, self.count):
            total[self.variable[i]] -= weights[i]

    cdef void push(self, const double* d, double* total) noexcept:
        """Put A·d into ``total``."""
        cdef int i
        if self.m:
            dgemv(b"T", &self.n, &self.m, &ONE, self.a, &self.n, <double*> d, &STEP, &NOTHING, total, &STEP)
        for i in range(self.m, self.uppers):
            total[i] = d[self.variable[i]]
        for i in range(self.uppers, self.count):
            total[i] = -d[self.variable[i]]

    cdef void measure(self) noexcept:
        cdef int i
        memcpy(self.rd, self.g, self.n * sizeof(double))
        dgemv(b"T", &self.n, &self.n, &ONE, self.B, &self.n, self.d, &STEP, &ONE, self.rd, &STEP)
        self.pull(self.y, self.rd)
        self.push(self.d, self.rp)
        for i in range(self.count):
            self.rp[i] += self.b[i] - self.u[i] + self.v[i]
        self.mu = self.gap(0.0)

    cdef double gap(self, double t) noexcept:
        """Mean complementarity after a step of length t."""
        cdef double total = 0.0
        cdef int i
        for i in range(self.count):
            if self.up[i]:
                total += (self.u[i] + t * self.du[i]) * (self.gap_high[i] - t * self.dy[i]) if t else self.u[i] * self.gap_high[i]
            if self.down[i]:
                total += (self.v[i] + t * self.dv[i]) * (self.gap_low[i] + t * self.dy[i]) if t else self.v[i] * self.gap_low[i]
        return total / self.pairs

    cdef bint at_end(self, double end) noexcept:
        return (
            self.mu <= end * self.size_g
            and size_of(self.rd, self.n) / self.size_g <= end
            and size_of(self.rp, self.count) / self.size_b <= end
        )

    cdef bint factor(self) noexcept:
        """Cholesky factor of B + AᵀE⁻¹A, which is positive definite up to rounding."""
        cdef int i, j, info, n = self.n, m = self.m, trial
        cdef double top, shift = 0.0
        for trial in range(2):
            memcpy(self.M, self.B, n * <size_t> n * sizeof(double))
            for i in range(m):
                for j in range(n):
                    self.scaled[i * n + j] = self.a[i * n + j] / self.E[i]
            if m:
                dgemm(b"N", b"T", &n, &n, &m, &ONE, self.scaled, &n, self.a, &n, &ONE, self.M, &n)
            for i in range(m, self.count):
                self.M[self.variable[i] * (n + 1)] += 1.0 / self.E[i]
            if trial:
                top = 0.0
                for j in range(n):
                    top = max(top, fabs(self.M[j * (n + 1)]))
                for j in range(n):
                    self.M[j * (n + 1)] += self.shift * top
            dpotrf(b"L", &n, self.M, &n, &info)
            if info == 0:
                for j in range(n):
                    if not isfinite(self.M[j * (n + 1)]):
                        return False
                return True
        return False

    cdef void direction(self) noexcept:
        """Newton's direction for the complementarity residuals ru and rv."""
        cdef int i, j, info, one = 1, n = self.n
        for i in range(self.count):
            self.r2[i] = -self.rp[i] + self.ru[i] / self.gap_high[i] - self.rv[i] / self.gap_low[i]
            self.dy[i] = self.r2[i] / self.E[i]
        for j in range(n):
            self.dd[j] = -self.rd[j]
        self.pull(self.dy, self.dd)
        dpotrs(b"L", &n, &one, self.M, &n, self.dd, &n, &info)
        self.push(self.dd, self.dy)
        for i in range(self.count):
            self.dy[i] = (self.dy[i] - self.r2[i]) / self.E[i]
            self.du[i] = (self.ru[i] + self.u[i] * self.dy[i]) / self.gap_high[i] if self.up[i] else 0.0
            self.dv[i] = (self.rv[i] - self.v[i] * self.dy[i]) / self.gap_low[i] if self.down[i] else 0.0

    cdef double longest(self) noexcept:
        """Longest step that keeps slacks and gaps from becoming negative."""
        cdef double t = INFINITY
        cdef int i
        for i in range(self.count):
            if self.du[i] < 0.0:
                t = min(t, -self.u[i] / self.du[i])
            if self.dv[i] < 0.0:
                t = min(t, -self.v[i] / self.dv[i])
            if self.up[i] and self.dy[i] > 0.0:
                t = min(t, self.gap_high[i] / self.dy[i])
            if self.down[i] and self.dy[i] < 0.0:
                t = min(t, -self.gap_low[i] / self.dy[i])
        return t

    cdef bint advance(self, double fraction, int power) noexcept:
        """One predictor and corrector; False when that is numerically impossible."""
        cdef int i
        cdef double t, affine, target, share
        for i in range(self.count):
            self.E[i] = max(self.u[i] / self.gap_high[i] + self.v[i] / self.gap_low[i], self.smallest)
        if not self.factor():
            return False
        for i in range(self.count):
            self.ru[i] = -self.u[i] * self.gap_high[i] if self.up[i] else 0.0
            self.rv[i] = -self.v[i] * self.gap_low[i] if self.down[i] else 0.0
        self.direction()
        t = min(1.0, self.longest())
        affine = self.gap(t)
        share = min(1.0, max(affine, 0.0) / max(self.mu, self.smallest))
        target = self.mu * share**power
        for i in range(self.count):
            if self.up[i]:
                self.ru[i] += target + self.du[i] * self.dy[i]
            if self.down[i]:
                self.rv[i] += target - self.dv[i] * self.dy[i]
        self.direction()
        for i in range(self.n):
            if not isfinite(self.dd[i]):
                return False
        t = min(1.0, max(fraction, 1.0 - self.mu) * self.longest())
        for i in range(self.n):
            self.d[i] += t * self.dd[i]
        for i in range(self.count):
            self.y[i] += t * self.dy[i]
            if self.up[i]:
                self.u[i] = max(self.u[i] + t * self.du[i], self.smallest)
                self.gap_high[i] = max(self.gap_high[i] - t * self.dy[i], self.smallest)
            if self.down[i]:
                self.v[i] = max(self.v[i] + t * self.dv[i], self.smallest)
                self.gap_low[i] = max(self.gap_low[i] + t * self.dy[i], self.smallest)
        self.measure()
        return True


def followed(g, B, a, b, low, high, double deadline, settings):
    cdef int iterations, power, i, j
    cdef double end, usable, fraction, smallest, shift, slack_low, slack_high
    iterations, end, usable, fraction, power, smallest, slack_low, slack_high, shift = settings
    cdef Path path = Path(g, B, a, b, low, high, smallest, shift, slack_low, slack_high)
    cdef bint timed = isfinite(deadline)
    clock = time.perf_counter
    for i in range(iterations):
        if path.at_end(end) or (timed and clock() > deadline) or not path.advance(fraction, power):
            break
    if not path.mu <= usable * path.size_g:
        return None
    cdef int n = path.n, m = path.m
    cdef cnp.npy_intp count = m + n
    cdef cnp.ndarray states = cnp.PyArray_ZEROS(1, &count, cnp.NPY_INT8, 0), d = vector(n), y = vector(m), z = vector(n)
    cdef cnp.ndarray l_ = plain(low), h_ = plain(high)
    cdef signed char *state = <signed char*> cnp.PyArray_DATA(states)
    cdef Numbers pl = data(l_), ph = data(h_)
    for j in range(n):
        data(z)[j] = 0.0
        data(d)[j] = min(max(path.d[j], pl[m + j]), ph[m + j])
    for i in range(path.count):
        if i < m:
            if path.down[i] and path.v[i] > path.gap_low[i]:
                state[i] = BELOW
            elif path.up[i] and path.u[i] > path.gap_high[i]:
                state[i] = ABOVE
            data(y)[i] = min(max(path.y[i], pl[i]), ph[i])
        else:
            j = path.variable[i]
            if not path.v[i] > path.gap_low[i]:
                state[m + j] = ABOVE if i < path.uppers else BELOW
            data(z)[j] += path.y[i] if i < path.uppers else -path.y[i]
    return d, y, z, states


cdef bint inverted(double* M, int k, int* pivots, double* work) noexcept:
    """Put the inverse of M (k, k) in its place; False where it is singular. ``work`` has k·k numbers."""
    cdef int info, room = k * k
    if not k:
        return True
    dgetrf(&k, &k, M, &k, pivots, &info)
    if info:
        return False
    dgetri(&k, M, &k, pivots, work, &room, &info)
    return info == 0


def boxed(D, W, M, g, low, high, states, settings):
    cdef cnp.ndarray D_ = plain(D), W_ = plain(W), M_ = plain(M), g_ = plain(g), l_ = plain(low), h_ = plain(high)
    cdef cnp.ndarray s_ = states
    cdef int n = length(g_), k = <int> cnp.PyArray_DIM(W_, 0), i, j, f, system, systems, patience, refinement, refinements
    cdef int wrong, last, fewest = n + 1, patient
    cdef double accurate, sign_tolerance, smallest_step, top, size_d, size_z, size_g = size_of(data(g_), n), part
    systems, patient, refinements, accurate, sign_tolerance, smallest_step = settings
    cdef cnp.npy_intp count = n
    cdef cnp.ndarray found = cnp.PyArray_EMPTY(1, &count, cnp.NPY_INT8, 0), d_ = vector(n), z_ = vector(n)
    cdef size_t small = k * <size_t> k, wide = k * <size_t> n
    cdef Memory memory = reserve(3 * small + 2 * wide + 2 * <size_t> n + 2 * k, 2 * <size_t> n + k)
    cdef Numbers pD = data(D_), pW = data(W_), pl = data(l_), ph = data(h_), d = data(d_), z = data(z_)
    cdef Numbers inverse = memory.numbers, N = inverse + small, work = N + small, own = work + small
    cdef Numbers scaled = own + wide, gradient = scaled + wide, r = gradient + n, parts = r + n, shares = parts + k
    cdef int* loose = memory.integers
    cdef int* move = loose + n
    cdef int* pivots = move + n
    cdef signed char* state = <signed char*> cnp.PyArray_DATA(found)
    memcpy(state, cnp.PyArray_DATA(s_), n)
    memcpy(inverse, data(M_), small * sizeof(double))
    if not inverted(inverse, k, pivots, work):
        return None
    patience = patient
    for system in range(systems):
        f = 0
        for j in range(n):
            if state[j] == CORNER:
                d[j] = 0.0
                loose[f] = j
                f += 1
            else:
                d[j] = pl[j] if state[j] == BELOW else ph[j]
        if not finite(d, n):
            return None
        for i in range(k):
            for j in range(f):
                own[i * f + j] = pW[i * n + loose[j]]
                scaled[i * f + j] = own[i * f + j] / pD[loose[j]]
        memcpy(N, data(M_), small * sizeof(double))
        if k and f:
            dgemm(b"T", b"N", &k, &k, &f, &MINUS, scaled, &f, own, &f, &ONE, N, &k)
        if not inverted(N, k, pivots, work):
            return None
        for refinement in range(2 + refinements):
            for j in range(n):
                gradient[j] = data(g_)[j] + pD[j] * d[j]
            if k:
                dgemv(b"T", &n, &k, &ONE, pW, &n, d, &STEP, &NOTHING, parts, &STEP)
                dgemv(b"N", &k, &k, &ONE, inverse, &k, parts, &STEP, &NOTHING, shares, &STEP)
                dgemv(b"N", &n, &k, &MINUS, pW, &n, shares, &STEP, &ONE, gradient, &STEP)
            for j in range(f):
                r[j] = gradient[loose[j]]
            if refinement > refinements or (refinement and size_of(r, f) <= accurate * size_g):
                break
            if k and f:
                dgemv(b"T", &f, &k, &ONE, scaled, &f, r, &STEP, &NOTHING, parts, &STEP)
                dgemv(b"N", &k, &k, &ONE, N, &k, parts, &STEP, &NOTHING, shares, &STEP)
            for j in range(f):
                r[j] /= pD[loose[j]]
            if k and f:
                dgemv(b"N", &f, &k, &ONE, scaled, &f, shares, &STEP, &ONE, r, &STEP)
            for j in range(f):
                d[loose[j]] -= r[j]
        if not finite(d, n):
            return None
        top = size_of(d, n)
        size_d = sign_tolerance * (top if top > smallest_step else smallest_step)
        size_z = sign_tolerance * size_g
        wrong, last = 0, -1
        for j in range(n):
            z[j] = -gradient[j] if state[j] != CORNER else 0.0
            if d[j] > ph[j] + size_d:
                move[j] = ABOVE
            elif d[j] < pl[j] - size_d:
                move[j] = BELOW
            elif state[j] * z[j] < -size_z:
                move[j] = CORNER
            else:
                move[j] = 2  # stays
                continue
            wrong += 1
            last = j
        if not wrong:
            for j in range(n):
                d[j] = min(max(d[j], pl[j]), ph[j])
            return d_, z_, found
        if wrong < fewest:
            fewest, patience = wrong, patient
        elif patience:
            patience -= 1
        else:
            state[last] = move[last]
            continue
        for j in range(n):
            if move[j] != 2:
                state[j] = move[j]
    return None
