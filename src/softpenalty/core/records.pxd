# The records that the algorithm passes around, with fields that extension modules read as C does; and memory.

cimport numpy as cnp


cdef class Point:
    cdef public object x, r, g, A, length, values, gradient, jacobian, A_noise
    cdef public double f, g_noise


cdef class Local:
    cdef public cnp.ndarray a, b, v
    cdef public double g_size, x_size


cdef class Step:
    cdef public object d, y, z, corner
    cdef public bint met


cdef class Plan:
    cdef public cnp.ndarray change, weights, own_weights
    cdef public double slope, curved, penalty, predicted


cdef class Measure:
    cdef public double violation, distance, stationarity, predicted, curved, step, noise, rounding, by_variable


cdef class Sizes:
    cdef public double unit
    cdef public object steepest, reach


cdef class Iterate:
    cdef public object point, y, z, measure, sizes
    cdef public double violation, enough
    cdef public int iteration, trials


cdef class State:
    cdef public object point, B, weights, unit, sizes, reaches
    cdef public double far, f_start, f_unit, lowest, least
    cdef public int iteration, trials, failures, restarts, short_steps, stalled, stuck, looks, slow


cdef class Search:
    cdef public object point
    cdef public double t
    cdef public int trials


cdef class QP:
    cdef public object g, B, a, b, low, high


cdef class QPSolution:
    cdef public object d, y, z, states


cdef class Memory:
    cdef double* numbers
    cdef int* integers
    cdef bint borrowed


cdef Memory reserve(size_t numbers, size_t integers)
