# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is done once a solve, before the first iteration and after the last one: twins of functions in
`problem.canonical` and `solve.start`.
"""

cimport numpy as cnp
from libc.math cimport INFINITY

from .arrays cimport data, length, mask, plain, vector

cnp.import_array()


cdef inline bint compares(int kind, double low, double high) noexcept:
    """Whether limits make an equality (kind 0), an upper limit (1) or a lower one (2)."""
    if kind == 0:
        return low == high
    return low < high and (high < INFINITY if kind == 1 else low > -INFINITY)


def compared(blocks, sizes):
    cdef cnp.ndarray lower, upper, source, target, sign, equality, floor
    cdef int kind, i, size, start = 0, row = 0, lows, highs
    cdef cnp.npy_intp m = 0
    cdef double low, high
    cdef list limits = []
    for block, size in zip(blocks, sizes):
        lower, upper = plain(block.lower), plain(block.upper)
        limits.append((lower, upper, size))
        lows, highs = length(lower) > 1, length(upper) > 1  # steps from one entry to the next
        for i in range(size):
            low, high = data(lower)[i * lows], data(upper)[i * highs]
            for kind in range(3):
                m += compares(kind, low, high)
    target, sign, floor = vector(m), vector(m), vector(m)
    source, equality = cnp.PyArray_EMPTY(1, &m, cnp.NPY_INT64, 0), cnp.PyArray_EMPTY(1, &m, cnp.NPY_BOOL, 0)
    for lower, upper, size in limits:
        lows, highs = length(lower) > 1, length(upper) > 1
        for kind in range(3):
            for i in range(size):
                low, high = data(lower)[i * lows], data(upper)[i * highs]
                if compares(kind, low, high):
                    (<cnp.int64_t*> cnp.PyArray_DATA(source))[row] = start + i
                    data(target)[row] = low if kind == 2 else high
                    data(sign)[row] = -1.0 if kind == 2 else 1.0
                    mask(equality)[row] = kind == 0
                    data(floor)[row] = -1.0 if kind == 0 else 0.0
                    row += 1
        start += size
    return source, target, sign, equality, floor


def inside(x, lower, upper):
    cdef cnp.ndarray x_ = plain(x), l_ = plain(lower), u_ = plain(upper)
    cdef int n = length(x_), j
    cdef cnp.ndarray moved = vector(n)
    cdef double entry
    for j in range(n):
        entry = data(x_)[j]
        if entry < data(l_)[j]:
            entry = data(l_)[j]
        data(moved)[j] = data(u_)[j] if entry > data(u_)[j] else entry
    return moved


def user_view(values, y, source, target, sign):
    cdef cnp.ndarray c_ = plain(values), y_ = plain(y), o_ = source, t_ = plain(target), s_ = plain(sign)
    cdef int m = length(t_), k = length(c_), i
    cdef cnp.ndarray errors = vector(m), multipliers = vector(m), by_value = vector(k)
    cdef cnp.int64_t* index = <cnp.int64_t*> cnp.PyArray_DATA(o_)
    for i in range(k):
        data(by_value)[i] = 0.0
    for i in range(m):
        data(errors)[i] = data(c_)[index[i]] - data(t_)[i]
        data(multipliers)[i] = data(y_)[i] * data(s_)[i]
        data(by_value)[index[i]] += data(multipliers)[i]
    return errors, multipliers, by_value
