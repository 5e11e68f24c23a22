# cython: language_level=3, auto_pickle=False
"""Twins of the records in `solve.sqp` and `solve.tolerances`, where each is explained.

None of them can be part of a cycle, so the garbage collector need not look at them.
"""

cimport cython
cimport numpy as cnp
from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc

from .arrays cimport vector

cnp.import_array()

cdef cnp.ndarray NOTHING = vector(0)


@cython.freelist(8)
@cython.no_gc
cdef class Point:
    def __init__(self, x, double f, r, g=NOTHING, A=NOTHING, length=NOTHING, values=NOTHING, gradient=NOTHING,
                 jacobian=None, double g_noise=0.0, A_noise=NOTHING):
        self.x, self.f, self.r, self.g, self.A, self.length = x, f, r, g, A, length
        self.values, self.gradient, self.jacobian = values, gradient, jacobian
        self.g_noise, self.A_noise = g_noise, A_noise


@cython.freelist(8)
@cython.no_gc
cdef class Local:
    def __init__(self, a, b, v, double g_size, double x_size):
        self.a, self.b, self.v, self.g_size, self.x_size = a, b, v, g_size, x_size


@cython.freelist(8)
@cython.no_gc
cdef class Step:
    def __init__(self, d, y, z, corner, bint met):
        self.d, self.y, self.z, self.corner, self.met = d, y, z, corner, met


@cython.freelist(8)
@cython.no_gc
cdef class Plan:
    def __init__(self, change, double slope, double curved, weights, own_weights, double penalty, double predicted):
        self.change, self.slope, self.curved, self.weights = change, slope, curved, weights
        self.own_weights, self.penalty, self.predicted = own_weights, penalty, predicted


@cython.freelist(8)
@cython.no_gc
cdef class Measure:
    def __init__(self, double violation, double distance, double stationarity, double predicted, double curved,
                 double step, double noise=0.0, double rounding=0.0, double by_variable=0.0):
        self.violation, self.distance, self.stationarity = violation, distance, stationarity
        self.predicted, self.curved, self.step = predicted, curved, step
        self.noise, self.rounding, self.by_variable = noise, rounding, by_variable


@cython.freelist(8)
@cython.no_gc
cdef class Sizes:
    def __init__(self, double unit, steepest, reach):
        self.unit, self.steepest, self.reach = unit, steepest, reach


@cython.freelist(8)
@cython.no_gc
cdef class Iterate:
    def __init__(self, point, y, z, measure, double violation, double enough, sizes, int iteration, int trials=0):
        self.point, self.y, self.z, self.measure, self.violation = point, y, z, measure, violation
        self.enough, self.sizes, self.iteration, self.trials = enough, sizes, iteration, trials


@cython.freelist(8)
@cython.no_gc
cdef class State:
    def __init__(self, point, B, weights, unit, double far, double f_start, sizes, int iteration, double f_unit=0.0,
                 int trials=0, int failures=0, int restarts=0, int short_steps=0, int stalled=0,
                 double lowest=INFINITY, int stuck=0, int looks=0, int slow=0, double least=INFINITY, reaches=()):
        self.point, self.B, self.weights, self.unit, self.far = point, B, weights, unit, far
        self.f_start, self.sizes, self.iteration, self.f_unit, self.trials = f_start, sizes, iteration, f_unit, trials
        self.failures, self.restarts, self.short_steps, self.stalled = failures, restarts, short_steps, stalled
        self.lowest, self.stuck, self.looks, self.slow, self.least = lowest, stuck, looks, slow, least
        self.reaches = reaches


@cython.freelist(8)
@cython.no_gc
cdef class Search:
    def __init__(self, point, double t, int trials):
        self.point, self.t, self.trials = point, t, trials


@cython.freelist(8)
@cython.no_gc
cdef class QP:
    def __init__(self, g, B, a, b, low, high):
        self.g, self.B, self.a, self.b, self.low, self.high = g, B, a, b, low, high


@cython.freelist(8)
@cython.no_gc
cdef class QPSolution:
    def __init__(self, d, y, z, states):
        self.d, self.y, self.z, self.states = d, y, z, states


cdef size_t SHELF = 1 << 16
cdef double* shelf = <double*> malloc(SHELF)
cdef bint on_shelf = shelf != NULL


@cython.freelist(8)
@cython.no_gc
cdef class Memory:
    """Doubles and integers to work on, given back when the object goes.

    Small ones come from a shelf, one at a time: malloc takes its time for more than a thousand bytes.
    """

    def __dealloc__(self):
        global on_shelf
        if self.borrowed:
            on_shelf = True
        else:
            free(self.numbers)


cdef Memory reserve(size_t numbers, size_t integers):
    global on_shelf
    cdef Memory memory = Memory.__new__(Memory)
    cdef size_t size = (numbers + 1) * sizeof(double) + (integers + 1) * sizeof(int)
    memory.borrowed = on_shelf and size <= SHELF
    if memory.borrowed:
        memory.numbers, on_shelf = shelf, False
    else:
        memory.numbers = <double*> malloc(size)
        if memory.numbers == NULL:
            raise MemoryError
    memory.integers = <int*> (memory.numbers + numbers + 1)
    return memory
