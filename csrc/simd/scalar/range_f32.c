/* range_f32.c -- the plain meaning of range_f32: the least and the greatest of 0 and all values
 * except NaN. */
#include "simd/variants.h"

void ml_range_f32_scalar(const float *x, int64_t n, float *least, float *most) {
    float low = 0.0f, high = 0.0f;
    for (int64_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    *least = low;
    *most = high;
}
