# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the user's functions return in the usual case: twins of functions in `problem.returned`."""

cimport numpy as cnp
from libc.math cimport isfinite
from libc.string cimport memcpy

from .arrays cimport Numbers, data, length, matrix, plain, vector

cnp.import_array()


cdef inline bint usual(object value, int axes):
    """Whether it is an array of doubles with so many axes."""
    return (
        type(value) is cnp.ndarray
        and cnp.PyArray_TYPE(<cnp.ndarray> value) == cnp.NPY_DOUBLE
        and cnp.PyArray_NDIM(<cnp.ndarray> value) == axes
        and cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray> value)
    )


def usual_values(list returned):
    cdef list copies = []
    cdef cnp.ndarray copy
    for value in returned:
        if isinstance(value, float):
            copy = vector(1)
            data(copy)[0] = value
        elif usual(value, 1):
            copy = cnp.PyArray_NewCopy(value, cnp.NPY_CORDER)
        else:
            return None
        copies.append(copy)
    return copies


def usual_derivatives(list returned, list sizes, int n):
    cdef int k = 0, size, i
    cdef cnp.ndarray part, stacked
    if not usual(returned[0], 1) or length(returned[0]) != n:
        return None
    for i in range(len(sizes)):
        size = sizes[i]
        if not usual(returned[1 + i], 2):
            return None
        part = returned[1 + i]
        if cnp.PyArray_DIM(part, 0) != size or cnp.PyArray_DIM(part, 1) != n:
            return None
        k += size
    stacked = matrix(k, n)
    cdef Numbers place = data(stacked)
    for i in range(len(sizes)):
        part = plain(returned[1 + i])
        memcpy(place, data(part), length(part) * sizeof(double))
        place += length(part)
    return cnp.PyArray_NewCopy(returned[0], cnp.NPY_CORDER), stacked


def finite_parts(list parts):
    cdef cnp.ndarray array
    cdef int i
    for part in parts:
        array = plain(part)
        for i in range(length(array)):
            if not isfinite(data(array)[i]):
                return False
    return True
