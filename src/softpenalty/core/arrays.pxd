# What the extension modules share: arrays of doubles as pointers, new arrays, questions asked of vectors, states.
# Matrices are stored by rows, so that BLAS and LAPACK, which count by columns, see their transposes.

cimport numpy as cnp
from libc.math cimport fabs, isfinite
from libc.string cimport memcpy

ctypedef double* Numbers

cdef enum:  # states of rows and variables, as in `solve.sqp.subproblem.qp`
    BELOW = -1
    CORNER = 0
    ABOVE = 1


cdef inline cnp.ndarray plain(object given):
    """The array as contiguous doubles: itself where it is that already."""
    cdef cnp.ndarray array
    if isinstance(given, cnp.ndarray):
        array = given
        if cnp.PyArray_TYPE(array) == cnp.NPY_DOUBLE and cnp.PyArray_ISCARRAY_RO(array):
            return array
    return cnp.PyArray_FROM_OTF(given, cnp.NPY_DOUBLE, cnp.NPY_ARRAY_CARRAY_RO)


cdef inline double* data(cnp.ndarray array) noexcept:
    return <double*> cnp.PyArray_DATA(array)


cdef inline cnp.npy_bool* mask(cnp.ndarray array) noexcept:
    return <cnp.npy_bool*> cnp.PyArray_DATA(array)


cdef inline int length(cnp.ndarray array) noexcept:
    return <int> cnp.PyArray_SIZE(array)


cdef inline cnp.ndarray vector(cnp.npy_intp n):
    return cnp.PyArray_EMPTY(1, &n, cnp.NPY_DOUBLE, 0)


cdef inline cnp.ndarray matrix(cnp.npy_intp m, cnp.npy_intp n):
    cdef cnp.npy_intp[2] shape
    shape[0], shape[1] = m, n
    return cnp.PyArray_EMPTY(2, shape, cnp.NPY_DOUBLE, 0)


cdef inline cnp.ndarray duplicate(cnp.ndarray array):
    """A copy of an array of doubles, contiguous."""
    if not cnp.PyArray_IS_C_CONTIGUOUS(array):
        return cnp.PyArray_NewCopy(array, cnp.NPY_CORDER)
    cdef cnp.ndarray copy = cnp.PyArray_EMPTY(cnp.PyArray_NDIM(array), cnp.PyArray_DIMS(array), cnp.NPY_DOUBLE, 0)
    memcpy(cnp.PyArray_DATA(copy), cnp.PyArray_DATA(array), cnp.PyArray_NBYTES(array))
    return copy


cdef inline double size_of(const double* x, int n) noexcept nogil:
    """Largest absolute entry, NaN where there is one, 0 without entries."""
    cdef double size = 0.0, entry
    cdef int i
    for i in range(n):
        entry = fabs(x[i])
        if entry > size:
            size = entry
        elif entry != entry:
            return entry
    return size


cdef inline double highest(const double* x, int n, double least) noexcept nogil:
    """The largest of the entries and ``least``, NaN where there is one."""
    cdef int i
    for i in range(n):
        if x[i] > least:
            least = x[i]
        elif x[i] != x[i]:
            return x[i]
    return least


cdef inline bint finite(const double* x, int n) noexcept nogil:
    cdef double total = 0.0
    cdef int i
    for i in range(n):
        total += x[i]
    return isfinite(total)


cdef inline double broken(double error, double floor) noexcept nogil:
    """How far a row is broken: |error| for floor −1 (an equality), max(error, 0) for floor 0."""
    cdef double other = floor * error
    return other if other > error else error
