# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The penalty QP from a guess of its active set: twins of functions in `solve.sqp.subproblem`."""

cimport numpy as cnp
from libc.math cimport fabs, INFINITY
from libc.string cimport memcmp, memcpy
from scipy.linalg.cython_blas cimport daxpy, ddot, dgemm, dgemv
from scipy.linalg.cython_lapack cimport dgesv, dgetrf, dgetri, dposv

from .arrays cimport ABOVE, BELOW, CORNER, Numbers, data, finite, length, mask, plain, size_of, vector
from .records cimport QP, Memory, QPSolution, Step, reserve

cnp.import_array()

cdef double ONE = 1.0, MINUS = -1.0, NOTHING = 0.0
cdef int STEP = 1
cdef int FEW = 16  # unknowns up to which a loop takes less time than a call of LAPACK


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


def guessed_step(QP qp, states, equality, int systems, double sign_tolerance, double smallest_step, double residual):
    found = guessed(qp, states, systems, sign_tolerance, smallest_step, residual)
    if found is None:
        return None
    d, y, z, states = found
    return step_of(d, y, z, states, equality, True), states


cpdef guessed(QP qp, states, int systems, double sign_tolerance, double smallest_step, double residual):
    cdef cnp.ndarray g_ = plain(qp.g), B_ = plain(qp.B), a_ = plain(qp.a), b_ = plain(qp.b)
    cdef cnp.ndarray l_ = plain(qp.low), h_ = plain(qp.high)
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
