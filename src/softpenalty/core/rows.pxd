from .records cimport Point


cdef class Points:
    cdef public object evaluation, full, places, units, lower, upper, source, sign, target, floor, typical
    cdef public object least_violated, pending
    cdef public bint scaled, bounded
    cdef public double least
    cdef double accuracy, rounded, shortest

    cpdef expand(self, x)
    cpdef Point at(self, x)
    cpdef double worst(self, Point point) except? -1.0
    cpdef moved(self, x, d, double t)
    cpdef bint differentiate(self, Point point) except -1
    cpdef reduced(self, g)
    cpdef spaced(self)
