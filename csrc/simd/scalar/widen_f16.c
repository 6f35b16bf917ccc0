/* widen_f16.c -- floats of 16 bits as float32, with integers. */
#include "math/float_math.h"
#include "simd/variants.h"

void ml_widen_f16_scalar(const uint16_t *x, int64_t n, float *restrict y) {
    for (int64_t i = 0; i < n; i++) y[i] = ml_float_of_half(x[i]);
}
