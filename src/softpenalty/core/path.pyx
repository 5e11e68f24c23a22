# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The penalty QP by an interior path: twin of the function in `solve.sqp.subproblem.path`."""

import time

cimport numpy as cnp
from libc.math cimport INFINITY, fabs, isfinite
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dgemm, dgemv
from scipy.linalg.cython_lapack cimport dpotrf, dpotrs

from .arrays cimport ABOVE, BELOW, Numbers, data, finite, length, plain, size_of, vector
from .records cimport QP, Memory, reserve

cnp.import_array()

cdef double ONE = 1.0, MINUS = -1.0, NOTHING = 0.0
cdef int STEP = 1


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

    def __cinit__(self, QP qp, double smallest, double shift, double slack_low, double slack_high):
        cdef cnp.ndarray g_ = plain(qp.g), B_ = plain(qp.B), a_ = plain(qp.a), b_ = plain(qp.b)
        cdef cnp.ndarray l_ = plain(qp.low), h_ = plain(qp.high)
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


def followed(QP qp, double deadline, settings):
    cdef int iterations, power, i, j
    cdef double end, usable, fraction, smallest, shift, slack_low, slack_high
    iterations, end, usable, fraction, power, smallest, slack_low, slack_high, shift = settings
    cdef Path path = Path(qp, smallest, shift, slack_low, slack_high)
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
    cdef cnp.ndarray l_ = plain(qp.low), h_ = plain(qp.high)
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
