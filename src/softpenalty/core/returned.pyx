# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the user's functions return in the usual case, and who remembers it: twins of functions in `problem.returned` and
of a class in `problem.remembered`.
"""

import numpy as np

cimport cython
cimport numpy as cnp
from libc.math cimport INFINITY, NAN, isfinite
from libc.string cimport memcpy

from .arrays cimport Numbers, data, duplicate, length, matrix, plain, vector

from . import home

cnp.import_array()


cdef inline bint usual(object value, int axes):
    """Whether it is an array of doubles with so many axes."""
    return (
        type(value) is cnp.ndarray
        and cnp.PyArray_TYPE(<cnp.ndarray> value) == cnp.NPY_DOUBLE
        and cnp.PyArray_NDIM(<cnp.ndarray> value) == axes
        and cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray> value)
    )


@cython.freelist(8)
@cython.no_gc
cdef class Answer:
    cdef public double objective
    cdef public object values, gradient, jacobian, noise

    def __init__(self, double objective, values, gradient=None, jacobian=None, noise=None):
        self.objective, self.values, self.gradient = objective, values, gradient
        self.jacobian, self.noise = jacobian, noise


def usual_number(returned, cnp.ndarray x):
    cdef cnp.ndarray copy
    if not isinstance(returned, float) or cnp.PyArray_TYPE(x) != cnp.NPY_DOUBLE:
        return None
    copy = vector(1)
    data(copy)[0] = returned
    return copy


def usual_values(returned, cnp.ndarray x):
    if not usual(returned, 1) or cnp.PyArray_TYPE(x) != cnp.NPY_DOUBLE:
        return None
    return duplicate(returned)


def usual_derivatives(returned, tuple shape):
    cdef int axes = len(shape), axis
    if not usual(returned, axes):
        return None
    for axis in range(axes):
        if cnp.PyArray_DIM(returned, axis) != shape[axis]:
            return None
    return duplicate(returned)


def stacked(list parts, int n):
    cdef cnp.npy_intp rows = 0
    cdef cnp.ndarray part, whole
    if len(parts) == 1:
        return parts[0]
    for given in parts:
        rows += cnp.PyArray_DIM(given, 0)
    whole = matrix(rows, n)
    cdef Numbers place = data(whole)
    for given in parts:
        part = plain(given)
        memcpy(place, data(part), length(part) * sizeof(double))
        place += length(part)
    return whole


def finite_parts(list parts):
    cdef cnp.ndarray array
    cdef int i
    for part in parts:
        if not usual(part, 1):
            if not np.isfinite(part).all():
                return False
            continue
        array = plain(part)
        for i in range(length(array)):
            if not isfinite(data(array)[i]):
                return False
    return True


def ordered(cnp.ndarray lower, cnp.ndarray upper):
    cdef cnp.ndarray l_ = plain(lower), u_ = plain(upper)
    cdef int j
    if length(l_) != length(u_):
        return False
    for j in range(length(l_)):
        if not (data(l_)[j] <= data(u_)[j] and data(l_)[j] < INFINITY and data(u_)[j] > -INFINITY):
            return False
    return True


def usual_limits(lower, upper, n):
    if n is None or not usual(lower, 1) or not usual(upper, 1):
        return None
    if cnp.PyArray_DIM(lower, 0) != n or cnp.PyArray_DIM(upper, 0) != n or not ordered(lower, upper):
        return None
    return cnp.PyArray_NewCopy(lower, cnp.NPY_CORDER), cnp.PyArray_NewCopy(upper, cnp.NPY_CORDER)


def finite_or_infinite(array):
    cdef cnp.ndarray a_ = plain(array)
    cdef int j
    for j in range(length(a_)):
        if data(a_)[j] != data(a_)[j]:
            return False
    return True


def joined(list parts):
    cdef cnp.ndarray first = plain(parts[0]), part, values
    cdef list sizes = []
    cdef int i, k = 0, size
    if len(parts) == 2 and length(parts[1]):
        return data(first)[0], parts[1], [length(parts[1])]
    for i in range(1, len(parts)):
        size = length(parts[i])
        sizes.append(size)
        k += size
    values = vector(k)
    cdef Numbers place = data(values)
    for i in range(1, len(parts)):
        part = plain(parts[i])
        memcpy(place, data(part), length(part) * sizeof(double))
        place += length(part)
    return data(first)[0], values, sizes


def answered(list functions, cnp.ndarray x, read):
    cdef list parts = [], sizes = []
    cdef cnp.ndarray values
    cdef double objective = 0.0, total
    cdef cnp.npy_intp k = 0
    cdef bint real = usual(x, 1)
    cdef int i
    for i in range(len(functions)):
        returned = functions[i]((duplicate(x) if real else cnp.PyArray_NewCopy(x, cnp.NPY_CORDER)))
        if i == 0 and isinstance(returned, float):
            objective = returned
        elif i == 0:
            objective = read(-1, returned, x)[0]
        else:
            part = duplicate(returned) if usual(returned, 1) else read(i - 1, returned, x)
            parts.append(part)
            sizes.append(cnp.PyArray_DIM(part, 0))
            k += sizes[i - 1]
    values = parts[0] if len(parts) == 1 else vector(k)
    if len(parts) != 1:
        copied(parts, data(values))
    # By a sum of zeros: infinity times zero is NaN.
    total = 0.0 * objective
    for i in range(k):
        total += 0.0 * data(values)[i]
    return objective, values, sizes, total == 0.0


def answered_derivatives(list functions, cnp.ndarray x, list sizes, read):
    cdef list parts = []
    cdef cnp.npy_intp n = cnp.PyArray_DIM(x, 0), k = 0, size
    cdef cnp.ndarray jacobian
    cdef bint sparse = False, real = usual(x, 1)
    cdef int i
    for i in range(len(functions)):
        returned = functions[i]((duplicate(x) if real else cnp.PyArray_NewCopy(x, cnp.NPY_CORDER)))
        size = 1 if i == 0 else sizes[i - 1]
        if i == 0 and usual(returned, 1) and cnp.PyArray_DIM(returned, 0) == n:
            part = duplicate(returned)
        elif i and usual(returned, 2) and cnp.PyArray_DIM(returned, 0) == size and cnp.PyArray_DIM(returned, 1) == n:
            part = duplicate(returned)
        else:
            part = read(i - 1, returned, size, n)
            sparse = sparse or not isinstance(part, cnp.ndarray)
        parts.append(part)
        k += size if i else 0
    if sparse:
        return parts
    if len(parts) == 2:
        return parts[0], parts[1]
    jacobian = matrix(k, n)
    copied(parts[1:], data(jacobian))
    return parts[0], jacobian


cdef int copied(list parts, Numbers place) except -1:
    """Put all arrays, one after the other, where they belong."""
    cdef cnp.ndarray part
    cdef int i
    for i in range(len(parts)):
        part = plain(parts[i])
        memcpy(place, data(part), length(part) * sizeof(double))
        place += length(part)
    return 0


cdef int most = 0


cdef inline int most_points():
    """How many points to remember, read once from the module in which that is written in Python."""
    global most
    if not most:
        most = home("Remembered").POINTS
    return most


cdef class Remembered:
    cdef public object functions, calls, sizes, spacing, _pinned, _n
    cdef public dict _points
    cdef public int njev

    cpdef Answer at(self, cnp.ndarray x):
        cdef bytes key = x.tobytes()
        cdef Answer point = self._points.get(key)
        if point is not None:
            return point
        if x.shape[0] != self._n:
            self._check_variables(x.size)
        found = self.calls.values(x)
        point = Answer.__new__(Answer)
        if found is None:
            point.objective, point.values = NAN, np.full(sum(self.sizes or ()), NAN)
        else:
            point.objective, point.values, sizes, point.gradient = found
            if sizes != self.sizes:
                self._check_sizes(sizes)
        if len(self._points) >= most_points():
            oldest, *others = self._points
            del self._points[others[0] if oldest == self._pinned else oldest]
        self._points[key] = point
        return point

    cpdef Answer differentiated(self, cnp.ndarray x):
        cdef Answer point = self.at(x)
        if point.jacobian is None:
            self.njev += 1
            if self.functions.all_given and self.calls.journal is None:
                found = self.calls.derivatives(x, self.sizes or [])
                point.gradient, point.jacobian = found or self._no_derivatives(x.size)
            else:
                self._differentiate(x, point)
        return point

    def _no_derivatives(self, n):
        return np.full(n, NAN), np.full((sum(self.sizes or []), n), NAN)
