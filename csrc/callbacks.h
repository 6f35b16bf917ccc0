/* callbacks.h -- what C calls in Python; only cffi reads this file (the cdef is api.h followed by it). */
