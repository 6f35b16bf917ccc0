/* narrow_f16.c -- float32 as floats of 16 bits, with integers. */
#include "math/float_math.h"
#include "simd/variants.h"

void ml_narrow_f16_scalar(const float *x, int64_t n, uint16_t *restrict y) {
    for (int64_t i = 0; i < n; i++) y[i] = ml_half_of_float(x[i]);
}
