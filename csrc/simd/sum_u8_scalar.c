/* sum_u8_scalar.c -- the plain meaning of sum_u8: the sum of n bytes, which wraps. */
#include "simd.h"

int32_t ml_sum_u8_scalar(const uint8_t *x, int64_t n) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return (int32_t)sum;
}
