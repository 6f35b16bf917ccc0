/* requantize.c -- the plain meaning of requantize. */
#include "math/fixed_point.h"
#include "simd/variants.h"

void ml_requantize_scalar(const ml_requantize_args *p) {
    for (int64_t r = 0; r < p->rows; r++) {
        const int32_t *sums = p->sums + r * p->sums_stride;
        int8_t *y = p->y + r * p->y_stride;
        for (int64_t i = 0; i < p->n; i++) {
            int32_t v = (int32_t)((uint32_t)sums[i] + (p->bias ? (uint32_t)p->bias[i] : 0));
            v = ml_multiply_quantized(v, p->mantissas[i], p->shifts[i]);
            y[i] =
                (int8_t)ml_clamp_s32((int32_t)((uint32_t)v + (uint32_t)p->zero), p->low, p->high);
        }
    }
}
