# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The secant matrix of the Lagrangian's Hessian: twins of functions in `solve.sqp.curvature`."""

cimport numpy as cnp
from libc.float cimport DBL_MIN
from libc.math cimport isfinite, sqrt
from libc.string cimport memcpy, memmove, memset
from scipy.linalg.cython_blas cimport daxpy, ddot, dgemm, dgemv
from scipy.linalg.cython_lapack cimport dpotrf, dsyev

from .arrays cimport Numbers, data, length, mask, matrix, plain, vector
from .records cimport Memory, Point, reserve

cnp.import_array()

cdef double ONE = 1.0, MINUS = -1.0, NOTHING = 0.0
cdef int STEP = 1
cdef int FEW = 16  # variables up to which a loop takes less time than a call of BLAS


cdef inline double dot(int n, double* x, double* y) noexcept:
    cdef double total = 0.0
    cdef int j
    if n > FEW:
        return ddot(&n, x, &STEP, y, &STEP)
    for j in range(n):
        total += x[j] * y[j]
    return total


cdef bint definite(double* B, int n, double smallest, double* work) noexcept:
    """Whether every eigenvalue exceeds ``smallest``; ``work`` (n, n) is overwritten."""
    cdef int info, j
    cdef double trace = 0.0
    memcpy(work, B, n * <size_t> n * sizeof(double))
    for j in range(n):
        work[j * (n + 1)] -= smallest
    dpotrf(b"L", &n, work, &n, &info)
    for j in range(n):
        trace += work[j * (n + 1)]
    return info == 0 and isfinite(trace)


cdef double lowest(double* B, int n, double* work) noexcept:
    """The smallest eigenvalue; ``work`` has n·n + 4n numbers."""
    cdef int info, room = 3 * n
    memcpy(work, B, n * <size_t> n * sizeof(double))
    dsyev(b"N", b"L", &n, work, &n, work + n * <size_t> n, work + n * <size_t> n + n, &room, &info)
    return work[n * <size_t> n]


cdef void assemble(double* B, int n, double* diagonal, double* V, double* scaled, double* share, int k) noexcept:
    """B = diag(diagonal) + Vᵀ·diag(share)·V, for V (k, n); ``scaled`` has its size."""
    cdef double part
    cdef int i, j, l
    if n <= FEW:
        memset(B, 0, n * <size_t> n * sizeof(double))
        for i in range(k):
            for l in range(n):
                part = share[i] * V[i * n + l]
                for j in range(n):
                    B[l * n + j] += part * V[i * n + j]
        for j in range(n):
            B[j * (n + 1)] += diagonal[j]
        return
    for i in range(k):
        for j in range(n):
            scaled[i * n + j] = share[i] * V[i * n + j]
    if k:
        dgemm(b"N", b"T", &n, &n, &k, &ONE, scaled, &n, V, &n, &NOTHING, B, &n)
    else:
        memset(B, 0, n * <size_t> n * sizeof(double))
    for j in range(n):
        B[j * (n + 1)] += diagonal[j]


def is_definite(B, double smallest):
    cdef cnp.ndarray B_ = plain(B)
    cdef int n = <int> cnp.PyArray_DIM(B_, 0)
    cdef Memory memory = reserve(n * <size_t> n, 0)
    return definite(data(B_), n, smallest, memory.numbers)


cdef void remove_part(double* v, double* s, double* V, double* share, double* parts, int k, int n) noexcept:
    """Subtract Vᵀ·diag(share)·V·s from v."""
    cdef double part
    cdef int i, j
    if n <= FEW:
        for i in range(k):
            parts[i] = share[i] * dot(n, V + i * n, s)
        for i in range(k):
            part = parts[i]
            for j in range(n):
                v[j] -= part * V[i * n + j]
        return
    if not k:
        return
    dgemv(b"T", &n, &k, &ONE, V, &n, s, &STEP, &NOTHING, parts, &STEP)
    for i in range(k):
        parts[i] *= share[i]
    dgemv(b"N", &n, &k, &MINUS, V, &n, parts, &STEP, &ONE, v, &STEP)


cdef void bfgs(
    double* B, int n, int k, double* S, double* Y, double* ss, double* sy, double gamma, double lowest_scalar,
    double highest_scalar, double damping, double* V, double* share, double* parts, double* scaled, double* diagonal,
    double* work,
) noexcept:
    """Powell-damped BFGS over the pairs: always definite."""
    cdef int i, j, kept = 0
    cdef double start = gamma, product, sBs, theta
    cdef bint any_positive = False
    cdef Numbers Bs, change
    for i in range(k):
        if sy[i] > 0.0 and (not any_positive or sy[i] / ss[i] < start):
            start = sy[i] / ss[i]
            any_positive = True
    start = min(max(start, lowest_scalar), highest_scalar)
    for i in range(k):
        change, Bs = V + kept * n, V + (kept + 1) * n
        for j in range(n):
            Bs[j] = -start * S[i * n + j]
        remove_part(Bs, S + i * n, V, share, parts, kept, n)
        for j in range(n):
            Bs[j] = -Bs[j]
        sBs = dot(n, S + i * n, Bs)
        if not sBs > 0.0:
            continue
        product = sy[i]
        if product < damping * sBs:
            theta = (1.0 - damping) * sBs / (sBs - product)
            for j in range(n):
                change[j] = theta * Y[i * n + j] + (1.0 - theta) * Bs[j]
            product = damping * sBs
        else:
            memcpy(change, Y + i * n, n * sizeof(double))
        share[kept], share[kept + 1] = 1.0 / product, -1.0 / sBs
        kept += 2
    for j in range(n):
        diagonal[j] = start
    assemble(B, n, diagonal, V, scaled, share, kept)
    if not definite(B, n, 0.0, work):
        memset(B, 0, n * <size_t> n * sizeof(double))
        for j in range(n):
            B[j * (n + 1)] = gamma


def limited_step(double scale, S, Y, g, lower, upper, states):
    cdef cnp.ndarray S_ = plain(S), Y_ = plain(Y), g_ = plain(g), l_ = plain(lower), u_ = plain(upper), s_ = states
    cdef int n = length(g_), k = <int> cnp.PyArray_DIM(S_, 0), i, j
    for j in range(n):
        if (<signed char*> cnp.PyArray_DATA(s_))[j]:
            return None
    cdef cnp.ndarray d_ = vector(n)
    cdef Numbers pS = data(S_), pY = data(Y_), d = data(d_)
    cdef double part
    cdef Memory memory = reserve(k, 0)
    cdef Numbers shares = memory.numbers
    for j in range(n):
        d[j] = -data(g_)[j]
    for i in range(k - 1, -1, -1):
        shares[i] = dot(n, pS + i * n, d)
        part = -shares[i]
        daxpy(&n, &part, pY + i * n, &STEP, d, &STEP)
    for j in range(n):
        d[j] /= scale
    for i in range(k):
        part = shares[i] - dot(n, pY + i * n, d)
        daxpy(&n, &part, pS + i * n, &STEP, d, &STEP)
    for j in range(n):
        if not (isfinite(d[j]) and data(l_)[j] <= d[j] <= data(u_)[j]):
            return None
    return d_


def normalized_pair(x, new_x, g, new_g, s, y, double pairing):
    cdef cnp.ndarray x_ = plain(x), to_ = plain(new_x), g_ = plain(g), after_ = plain(new_g), s_ = s, y_ = y
    cdef int n = length(x_), j
    cdef Numbers ps = data(s_), py = data(y_)
    cdef double sy, yy, factor
    for j in range(n):
        ps[j] = data(to_)[j] - data(x_)[j]
        py[j] = data(after_)[j] - data(g_)[j]
    sy, yy = dot(n, ps, py), dot(n, py, py)
    if not (isfinite(yy) and sy > pairing * sqrt(dot(n, ps, ps) * yy)):
        return 0.0
    factor = 1.0 / sqrt(sy)
    for j in range(n):
        ps[j] *= factor
        py[j] *= factor
    return yy / sy


def moved_matrix(S, G, J, int k, Point old, Point new, y, corner, double scalar, settings):
    if k == cnp.PyArray_DIM(S, 0):
        k -= 1
        forget(S, k)
        forget(G, k)
        forget(J, k)
    put_change(S, k, old.x, new.x)
    put_change(G, k, old.g, new.g)
    put_change(J, k, old.A, new.A)
    return *secant_matrix(S, G, J, k + 1, y, new.A, corner, scalar, settings), k + 1


cdef void forget(cnp.ndarray kept, int k):
    """Let the last k entries move up to the first place."""
    cdef size_t size = cnp.PyArray_SIZE(kept) // (k + 1)
    memmove(data(kept), data(kept) + size, k * size * sizeof(double))


cdef void put_change(cnp.ndarray kept, int k, object old, object new):
    cdef cnp.ndarray old_ = plain(old), new_ = plain(new)
    cdef int i, size = length(old_)
    cdef Numbers place = data(kept) + k * <size_t> size
    for i in range(size):
        place[i] = data(new_)[i] - data(old_)[i]


cpdef secant_matrix(S, G, J, int k, y, A, corner, double scalar, settings):
    cdef cnp.ndarray S_ = plain(S), G_ = plain(G), J_ = plain(J), y_ = plain(y), A_ = plain(A), c_ = corner
    cdef int n = <int> cnp.PyArray_DIM(S_, 1), m = length(y_)
    cdef int i, j, kept = 0, active = 0, trial, trials, most
    cdef double pairing, fading, low, high, spread, tiny, smallest, damping, convexifying, growth
    pairing, fading, low, high, spread, tiny, smallest, damping, convexifying, growth, trials, most = settings
    cdef cnp.ndarray B_ = matrix(n, n)
    cdef Numbers pS = data(S_), pJ = data(J_), B = data(B_), v
    cdef double yy, vs, gamma, weight, square, total
    cdef bint good = False
    # Y, V and its scaled copy (twice as long for BFGS), a matrix to work on, and vectors.
    for i in range(m):
        active += mask(c_)[i]
    cdef size_t pairs = k * <size_t> n, entries = n * <size_t> n, rows = max(2 * pairs, active * <size_t> n)
    cdef Memory memory = reserve(pairs + 2 * rows + 3 * entries + 6 * n + 6 * k, 0)
    cdef Numbers Y = memory.numbers, V = Y + pairs, scaled = V + rows, work = scaled + rows
    cdef Numbers gram = work + entries + 4 * n, augmented = gram + entries, diagonal = augmented + entries
    cdef Numbers squares = diagonal + n, ss = squares + n, sy = ss + k, share = sy + k, parts = share + 2 * k
    memcpy(Y, data(G_), pairs * sizeof(double))
    for j in range(m):
        if data(y_)[j] != 0.0:
            for i in range(k):
                daxpy(&n, data(y_) + j, pJ + (i * <size_t> m + j) * n, &STEP, Y + i * n, &STEP)
    for i in range(k):
        ss[i], sy[i] = dot(n, pS + i * n, pS + i * n), dot(n, pS + i * n, Y + i * n)
        yy = dot(n, Y + i * n, Y + i * n)
        if sy[i] > pairing * sqrt(ss[i] * yy):
            scalar = sy[i] / ss[i]
            good = True
    if not good:
        scalar *= fading
    gamma = min(max(scalar, low), high)
    if k > 1:
        for j in range(n):
            diagonal[j] = squares[j] = 0.0
        total = 0.0
        for i in range(k):
            total += ss[i]
            for j in range(n):
                squares[j] += pS[i * n + j] * pS[i * n + j]
                diagonal[j] += pS[i * n + j] * Y[i * n + j]
        total *= tiny
        for j in range(n):
            diagonal[j] = (diagonal[j] + gamma * total) / (squares[j] + total)
            diagonal[j] = min(max(diagonal[j], gamma / spread), gamma * spread)
    else:
        for j in range(n):
            diagonal[j] = gamma
    for i in range(k):
        v = V + kept * n
        for j in range(n):
            v[j] = Y[i * n + j] - diagonal[j] * pS[i * n + j]
        remove_part(v, pS + i * n, V, share, parts, kept, n)
        vs = dot(n, v, pS + i * n)
        if vs * vs > pairing * pairing * dot(n, v, v) * ss[i]:
            share[kept] = 1.0 / vs
            kept += 1
    assemble(B, n, diagonal, V, scaled, share, kept)
    if definite(B, n, smallest * gamma, work):
        return B_, gamma
    if active:
        kept = 0
        for i in range(m):
            if mask(c_)[i]:
                v = V + kept * n
                memcpy(v, data(A_) + i * <size_t> n, n * sizeof(double))
                square = max(dot(n, v, v), DBL_MIN)
                for j in range(n):
                    scaled[kept * n + j] = v[j] / square
                kept += 1
        weight = convexifying * (max(-lowest(B, n, work), gamma) if n <= most else gamma)
        dgemm(b"N", b"T", &n, &n, &active, &ONE, scaled, &n, V, &n, &NOTHING, gram, &n)
        for trial in range(trials):
            for i in range(n * n):
                augmented[i] = B[i] + weight * gram[i]
            if definite(augmented, n, smallest * gamma, work):
                memcpy(B, augmented, entries * sizeof(double))
                return B_, gamma
            weight *= growth
    bfgs(B, n, k, pS, Y, ss, sy, gamma, low, high, damping, V, share, parts, scaled, diagonal, work)
    return B_, gamma
