/* add_s16.c -- add_s16 in plain C. */
#include "math/fixed_point.h"
#include "simd/variants.h"

static inline int32_t term(int32_t x, const ml_add_s16_scale *s) {
    const uint32_t shifted = (uint32_t)(x - s->zero) << ML_LEFT_S16;
    return ml_multiply_quantized((int32_t)shifted, s->mantissa, s->shift);
}

void ml_add_s16_scalar(const ml_add_s16_args *args) {
    const ml_add_s16_args p = *args; /* a copy, not read again after each store */
    for (int64_t i = 0; i < p.n; i++) {
        const int32_t a = term(p.a[i * p.a_step], &p.of_a);
        const int32_t b = term(p.b[i * p.b_step], &p.of_b);
        const uint32_t sum = p.subtracts ? (uint32_t)a - (uint32_t)b : (uint32_t)a + (uint32_t)b;
        const int32_t v = ml_multiply_quantized((int32_t)sum, p.of_y.mantissa, p.of_y.shift);
        p.y[i] =
            (int16_t)ml_clamp_s32((int32_t)((uint32_t)v + (uint32_t)p.of_y.zero), p.low, p.high);
    }
}
