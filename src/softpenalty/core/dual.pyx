# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The QP with hard rows by a dual active set: twin of the function in `solve.sqp.subproblem.dual`."""

cimport numpy as cnp
from libc.math cimport copysign, fabs, isfinite, sqrt, INFINITY
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport daxpy, ddot, dgemv, dger, drot, dtrsv
from scipy.linalg.cython_lapack cimport dpotrf, dtrtri

from .arrays cimport ABOVE, BELOW, CORNER, Numbers, data, finite, length, plain, size_of, vector
from .records cimport QP, Memory, reserve

cnp.import_array()

cdef double ONE = 1.0, MINUS = -1.0, NOTHING = 0.0
cdef int STEP = 1
cdef int UNKNOWN = 0, TAKEN = 1, NO_SOLUTION = 2


cdef class Dual:
    """The minimum over the constraints taken in. J (n, n) is stored by rows and transposed, R by columns."""

    cdef int n, m, q, fixed, left, refinements
    cdef double suspect, dependent, falling, rounding, far, accurate, sign_tolerance, smallest_step, residual
    cdef Numbers g, B, a, b, low, high  # of the QP
    cdef Memory memory
    cdef Numbers J, R, d, w, p, rest, shares, r, u, signs, allowed, errors
    cdef int *numbers
    cdef int *taken

    def __cinit__(self, cnp.ndarray g, cnp.ndarray B, cnp.ndarray a, cnp.ndarray b, cnp.ndarray low, cnp.ndarray high,
                  settings):
        cdef size_t n = length(g), m = length(b), i
        cdef double changes
        (changes, self.suspect, self.dependent, self.falling, self.rounding, self.far, self.accurate,
         self.refinements, self.sign_tolerance, self.smallest_step, self.residual) = settings
        self.n, self.m, self.q, self.fixed, self.left = n, m, 0, 0, <int> (changes * (m + n))
        self.g, self.B, self.a, self.b = data(g), data(B), data(a), data(b)
        self.low, self.high = data(low), data(high)
        self.memory = reserve(2 * n * n + 9 * n + 2 * m + 3, 2 * n + m + 1)
        self.numbers = self.memory.integers
        self.J = self.memory.numbers
        self.R = self.J + n * n
        self.d = self.R + n * n
        self.w = self.d + n
        self.p = self.w + n
        self.rest = self.p + n
        self.shares = self.rest + n
        self.r = self.shares + n
        self.u = self.r + n + 1
        self.signs = self.u + n + 1
        self.allowed = self.signs + n + 1
        self.errors = self.allowed + m + n
        self.taken = self.numbers + n + 1
        for i in range(m + n):
            self.allowed[i] = 0.0
            self.taken[i] = False

    cdef bint factor(self) noexcept:
        """J = L⁻ᵀ and the minimum without constraints; False where B is not definite."""
        cdef int n = self.n, info, i, j
        memcpy(self.J, self.B, n * <size_t> n * sizeof(double))
        for i in range(n):
            for j in range(i + 1, n):
                self.J[i * n + j] = 0.0
        dpotrf(b"U", &n, self.J, &n, &info)
        if info or not finite(self.J, n * n):
            return False
        dtrtri(b"U", b"N", &n, self.J, &n, &info)
        self.settle()
        return info == 0

    cdef double offset(self, int number, double sign) noexcept:
        """The constraint's error at the step 0."""
        if number < self.m:
            return sign * self.b[number]
        return -sign * (self.high[number] if sign > 0.0 else self.low[number])

    cdef double error(self, int number, double sign) noexcept:
        cdef double along
        if number < self.m:
            along = ddot(&self.n, self.a + number * self.n, &STEP, self.d, &STEP)
        else:
            along = self.d[number - self.m]
        return sign * along + self.offset(number, sign)

    cdef void combine(self, double factor, double* shares, double* total) noexcept:
        """Add the normals taken in, times ``factor`` and ``shares`` (q,), to ``total`` (n,)."""
        cdef int i, number
        cdef double share
        for i in range(self.q):
            number, share = self.numbers[i], factor * self.signs[i] * shares[i]
            if number < self.m:
                daxpy(&self.n, &share, self.a + number * self.n, &STEP, total, &STEP)
            else:
                total[number - self.m] += share

    cdef void project(self, double* x, double* out, int first, int last) noexcept:
        """The products of columns ``first`` to ``last`` of J with x (n,)."""
        cdef int count = last - first
        if count:
            dgemv(b"T", &self.n, &count, &ONE, self.J + first * self.n, &self.n, x, &STEP, &NOTHING, out + first,
                  &STEP)

    cdef void triangle(self, double* x, bint transposed) noexcept:
        """Solve with R, or its transpose, in place."""
        if self.q:
            dtrsv(b"U", b"T" if transposed else b"N", b"N", &self.q, self.R, &self.n, x, &STEP)

    cdef void settle(self) noexcept:
        """The minimum and its multipliers from the factors alone, free of what rounding did on the way."""
        cdef int i
        self.project(self.g, self.shares, 0, self.n)
        for i in range(self.q):
            self.r[i] = self.offset(self.numbers[i], self.signs[i])
        self.triangle(self.r, True)
        for i in range(self.q):
            self.u[i] = self.r[i] - self.shares[i]
            self.shares[i] = self.r[i]
        self.triangle(self.u, False)
        dgemv(b"N", &self.n, &self.n, &MINUS, self.J, &self.n, self.shares, &STEP, &NOTHING, self.d, &STEP)

    cdef int run(self) noexcept:
        """TAKEN: solved; NO_SOLUTION: and the multipliers say why."""
        cdef int number, verdict
        cdef double sign
        cdef bint exact = False
        for number in range(self.m + self.n):
            if number < self.m:
                if not self.low[number] < 0.0:
                    continue
            elif self.low[number] != self.high[number]:
                continue
            verdict = self.take(number, 1.0 if self.error(number, 1.0) > 0.0 else -1.0)
            if verdict != TAKEN:
                return verdict
            self.fixed = self.q
            self.allowed[number] = INFINITY
        while True:
            number = self.worst(self.rounding if exact else self.sign_tolerance, &sign)
            if number >= 0:
                exact = False
                verdict = self.take(number, sign)
                if verdict != TAKEN:
                    return verdict
            elif exact:
                return TAKEN if self.all_hold() else UNKNOWN
            elif self.refine():
                exact = True
            else:
                return UNKNOWN

    cdef void measure(self) noexcept:
        """Errors of all rows."""
        memcpy(self.errors, self.b, self.m * sizeof(double))
        if self.m:
            dgemv(b"T", &self.n, &self.m, &ONE, self.a, &self.n, self.d, &STEP, &ONE, self.errors, &STEP)

    cdef int worst(self, double rounding, double* sign) noexcept:
        """The constraint that is broken most, and its sign; −1 where all hold."""
        cdef int i, j, found = -1, n = self.n, m = self.m
        cdef double most = 0.0, broken, size, over, under
        rounding *= max(self.smallest_step, size_of(self.d, n))
        self.measure()
        for i in range(m):
            broken = self.errors[i] - (self.allowed[i] + rounding)
            if self.taken[i] or not broken > most:
                continue
            size = 0.0
            for j in range(n):
                size += fabs(self.a[i * n + j] * self.d[j])
            broken -= self.sign_tolerance * size
            if broken > most:
                most, found = broken, i
                sign[0] = 1.0
        for j in range(n):
            over, under = self.d[j] - self.high[m + j], self.low[m + j] - self.d[j]
            broken = (over if over >= under else under) - (
                self.allowed[m + j] + self.sign_tolerance * fabs(self.d[j]) + rounding)
            if not self.taken[m + j] and broken > most:
                most, found = broken, m + j
                sign[0] = 1.0 if over >= under else -1.0
        return found

    cdef int take(self, int number, double sign) noexcept:
        """Go to the minimum with this constraint too. TAKEN also where it is met as well as it can be."""
        cdef int i, n = self.n, leaving, more
        cdef bint dependent
        cdef double size, reach, full, t
        for i in range(n):
            self.p[i] = sign * self.a[number * n + i] if number < self.m else 0.0
        if number >= self.m:
            self.p[number - self.m] = sign
        while self.left > 0:
            self.left -= 1
            more = n - self.q
            self.project(self.p, self.w, 0, n)
            memcpy(self.r, self.w, self.q * sizeof(double))
            self.triangle(self.r, False)
            dependent = self.close_look()
            size = ddot(&more, self.w + self.q, &STEP, self.w + self.q, &STEP)
            if not (dependent or size > 0.0):
                break
            leaving = self.first_to_leave(&reach)
            if dependent and leaving < 0:
                return self.contradiction(number, sign)
            full = INFINITY if dependent else self.error(number, sign) / size
            t = reach if reach < full else full
            if not isfinite(t):
                return UNKNOWN
            if full <= reach:
                self.add(number, sign, sqrt(size))
                self.settle()
                return TAKEN
            t = -t
            if not dependent:
                dgemv(b"N", &n, &more, &t, self.J + self.q * n, &n, self.w + self.q, &STEP, &ONE, self.d, &STEP)
            for i in range(self.q):
                self.u[i] += t * self.r[i]
            self.drop(leaving)
        return UNKNOWN

    cdef bint close_look(self) noexcept:
        """Whether p is a sum of the normals, with shares r; where that is near, w and r become more exact."""
        cdef int i, n = self.n, q = self.q
        cdef double known = 0.0, new = 0.0, total = 1.0
        for i in range(n):
            if i < q:
                known += self.w[i] * self.w[i]
            else:
                new += self.w[i] * self.w[i]
        if sqrt(new) > self.suspect * sqrt(known + new):
            return False
        memcpy(self.rest, self.p, n * sizeof(double))
        self.combine(-1.0, self.r, self.rest)
        self.project(self.rest, self.shares, 0, q)
        self.triangle(self.shares, False)
        for i in range(q):
            self.r[i] += self.shares[i]
            total += fabs(self.r[i])
        memcpy(self.rest, self.p, n * sizeof(double))
        self.combine(-1.0, self.r, self.rest)
        self.project(self.rest, self.w, q, n)
        return q == n or size_of(self.rest, n) <= self.dependent * total

    cdef int first_to_leave(self, double* reach) noexcept:
        """How far multipliers can go against r (q,) until one is 0, and which; −1 where none falls."""
        cdef int i, leaving = -1
        cdef double falling = self.falling * size_of(self.r, self.q)
        reach[0] = INFINITY
        for i in range(self.fixed, self.q):
            if self.r[i] > falling and self.u[i] < reach[0] * self.r[i]:
                reach[0], leaving = max(self.u[i], 0.0) / self.r[i], i
        return leaving

    cdef int contradiction(self, int number, double sign) noexcept:
        """A broken constraint whose normal is a sum of the others with no share that may fall: no solution."""
        cdef int i, n = self.n, m = self.m
        cdef double own = self.offset(number, sign), size = max(1.0, fabs(own)), gap = own, total = 1.0
        cdef double longest, reach = 0.0
        for i in range(self.q):
            size = max(size, fabs(self.offset(self.numbers[i], self.signs[i])))
        if self.error(number, sign) <= self.residual * size:
            self.allowed[number] = self.residual * size
            return TAKEN
        memcpy(self.shares, self.r, self.q * sizeof(double))
        for i in range(self.q):
            if i >= self.fixed:
                self.shares[i] = min(self.shares[i], 0.0)
            gap -= self.shares[i] * self.offset(self.numbers[i], self.signs[i])
            total += fabs(self.shares[i])
        # For steps that meet all of them, rest·d + gap ≤ 0; where each gives way by a little, ≤ slack.
        longest = self.far * max(size, size_of(self.d, n))
        memcpy(self.rest, self.p, n * sizeof(double))
        self.combine(-1.0, self.shares, self.rest)
        for i in range(n):
            reach += fabs(self.rest[i]) * min(max(fabs(self.low[m + i]), fabs(self.high[m + i])), longest)
        if not gap > reach + self.residual * size * total:
            return UNKNOWN
        for i in range(self.q):
            self.u[i] = -self.shares[i]
        self.numbers[self.q], self.signs[self.q], self.u[self.q] = number, sign, 1.0
        self.q += 1
        return NO_SOLUTION

    cdef void add(self, int number, double sign, double size) noexcept:
        """A constraint more: a reflection makes w = Jᵀp, of this size beyond q, zero there."""
        cdef int n = self.n, q = self.q, more = n - q
        cdef double first = self.w[q], corner = -copysign(size, first), scale = -1.0 / (size * (size + fabs(first)))
        memcpy(self.R + q * n, self.w, q * sizeof(double))
        self.R[q * n + q] = corner
        self.w[q] -= corner
        dgemv(b"N", &n, &more, &ONE, self.J + q * n, &n, self.w + q, &STEP, &NOTHING, self.rest, &STEP)
        dger(&n, &more, &scale, self.rest, &STEP, self.w + q, &STEP, self.J + q * n, &n)
        self.numbers[q], self.signs[q], self.taken[number] = number, sign, True
        self.q += 1

    cdef void drop(self, int k) noexcept:
        """Without constraint k: its column goes, and rotations make R triangular again."""
        cdef int n = self.n, i, rest
        cdef double c, s, size
        cdef Numbers R = self.R
        self.taken[self.numbers[k]] = False
        self.q -= 1
        for i in range(k, self.q):
            self.numbers[i], self.signs[i], self.u[i] = self.numbers[i + 1], self.signs[i + 1], self.u[i + 1]
            memcpy(R + i * n, R + (i + 1) * n, (i + 2) * sizeof(double))
        for i in range(k, self.q):
            size = sqrt(R[i * n + i] * R[i * n + i] + R[i * n + i + 1] * R[i * n + i + 1])
            c, s, rest = R[i * n + i] / size, R[i * n + i + 1] / size, self.q - i
            drot(&rest, R + i * n + i, &n, R + i * n + i + 1, &n, &c, &s)
            drot(&n, self.J + i * n, &STEP, self.J + (i + 1) * n, &STEP, &c, &s)

    cdef bint refine(self) noexcept:
        """Remove what rounding left of the residuals; whether the point is then the minimum it should be."""
        cdef int i, refinement, n = self.n
        cdef double size_y, size_d, off, broken, curvature = 0.0
        for refinement in range(self.refinements + 1):
            memcpy(self.rest, self.g, n * sizeof(double))
            dgemv(b"T", &n, &n, &ONE, self.B, &n, self.d, &STEP, &ONE, self.rest, &STEP)
            self.combine(1.0, self.u, self.rest)
            for i in range(self.q):
                self.r[i] = self.error(self.numbers[i], self.signs[i])
            size_y = max(size_of(self.g, n), size_of(self.u, self.q))
            size_d = max(self.smallest_step, size_of(self.d, n))
            off, broken = size_of(self.rest, n), size_of(self.r, self.q)
            if off <= self.accurate * size_y and broken <= self.accurate * size_d:
                break
            if refinement < self.refinements:
                self.project(self.rest, self.shares, 0, n)
                self.triangle(self.r, True)
                for i in range(self.q):
                    self.w[i] = self.r[i] - self.shares[i]
                    self.shares[i] = self.r[i]
                self.triangle(self.w, False)
                for i in range(self.q):
                    self.u[i] += self.w[i]
                dgemv(b"N", &n, &n, &MINUS, self.J, &n, self.shares, &STEP, &ONE, self.d, &STEP)
        for i in range(self.fixed, self.q):
            if not self.u[i] >= -self.sign_tolerance * size_y:
                return False
        for i in range(n):
            curvature = max(curvature, fabs(self.B[i * n + i]))
        return off <= self.residual * size_y + self.rounding * curvature * size_d

    cdef bint all_hold(self) noexcept:
        """Whether nothing is broken but by rounding, in lengths of a step too: a long step hides much."""
        cdef int i, m = self.m
        cdef double error, d
        self.measure()
        for i in range(m):
            error = fabs(self.errors[i]) if self.low[i] < 0.0 else self.errors[i]
            if not error <= self.residual * max(1.0, fabs(self.b[i])):
                return False
        for i in range(self.n):
            d = self.d[i]
            if not max(d - self.high[m + i], self.low[m + i] - d) <= self.residual * max(1.0, fabs(d)):
                return False
        return True

    cdef tuple answer(self, bint solvable):
        """Step, multipliers and states. What is taken in holds exactly, no multiplier has a wrong sign."""
        cdef int i, number, m = self.m, n = self.n
        cdef cnp.npy_intp count = m + n
        cdef cnp.ndarray d_ = vector(n), y_ = vector(m), z_ = vector(n)
        cdef cnp.ndarray found = cnp.PyArray_ZEROS(1, &count, cnp.NPY_INT8, 0)
        cdef signed char* state = <signed char*> cnp.PyArray_DATA(found)
        cdef Numbers d = data(d_), y = data(y_), z = data(z_)
        cdef double multiplier, side
        for i in range(m):
            y[i] = 0.0
            if self.low[i] == 0.0:
                state[i] = BELOW
        for i in range(n):
            z[i] = 0.0
            d[i] = min(max(self.d[i], self.low[m + i]), self.high[m + i])
        for i in range(self.q):
            number = self.numbers[i]
            multiplier = self.signs[i] * (self.u[i] if i < self.fixed else max(self.u[i], 0.0))
            if number < m:
                state[number], y[number] = CORNER, multiplier
            else:
                side = self.signs[i] if multiplier == 0.0 else multiplier
                state[number], z[number - m] = (ABOVE if side > 0.0 else BELOW), multiplier
                d[number - m] = self.high[number] if side > 0.0 else self.low[number]
        return solvable, d_, y_, z_, found


def dual_solved(QP qp, settings):
    cdef cnp.ndarray g_ = plain(qp.g), B_ = plain(qp.B), a_ = plain(qp.a), b_ = plain(qp.b)
    cdef cnp.ndarray l_ = plain(qp.low), h_ = plain(qp.high)
    cdef int i, verdict
    if not finite(data(g_), length(g_)) or not finite(data(a_), length(a_)):
        return None
    for i in range(length(l_)):
        if not data(l_)[i] <= data(h_)[i]:
            return None
    cdef Dual found = Dual(g_, B_, a_, b_, l_, h_, settings)
    if not found.factor():
        return None
    verdict = found.run()
    return None if verdict == UNKNOWN else found.answer(verdict == TAKEN)
