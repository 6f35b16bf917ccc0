/* mul_s8.c -- the plain meaning of mul_s8, in loops that the compiler turns into vector
 * code. */
#include <stdbool.h>

#include "math/fixed_point.h"
#include "simd/variants.h"

enum { CHUNK = 256 };

#define INLINE __attribute__((always_inline)) static inline

INLINE void multiply(const ml_mul_s8_args *p, int64_t at, int64_t n, const bool a_steps,
                     const bool b_steps, int32_t *products) {
    const int32_t flip = p->is_signed ? 128 : 0;
    const int32_t a_zero = flip + p->a_zero, b_zero = flip + p->b_zero;
    const uint8_t *a = p->a + (a_steps ? at : 0), *b = p->b + (b_steps ? at : 0);
    for (int64_t i = 0; i < n; i++) {
        /* (x ^ 128) - 128 is the signed byte. */
        const int32_t u = (a[a_steps ? i : 0] ^ flip) - a_zero,
                      v = (b[b_steps ? i : 0] ^ flip) - b_zero;
        products[i] = (int32_t)((uint32_t)u * (uint32_t)v);
    }
}

/* ml_multiply_quantized of `n` products; a right shift is the common case. The high product is
 * computed unsigned, which baseline x86-64 supports: with a + 2^31 in place of a it is larger by
 * the mantissa. */
static void scale(const ml_mul_s8_args *p, int64_t n, int32_t *v) {
    const int32_t mantissa = p->mantissa, shift = p->shift;
    if (shift > 0)
        for (int64_t i = 0; i < n; i++) v[i] = ml_multiply_quantized(v[i], mantissa, shift);
    for (int64_t i = 0; shift <= 0 && i < n; i++) {
        const uint64_t product = (uint64_t)((uint32_t)v[i] ^ 0x80000000u) * (uint32_t)mantissa;
        const uint32_t high = (uint32_t)((product + (1u << 30)) >> 31) - (uint32_t)mantissa;
        v[i] = ml_rounding_shift_right((int32_t)high, -shift);
    }
}

void ml_mul_s8_scalar(const ml_mul_s8_args *p) {
    int32_t v[CHUNK];
    for (int64_t at = 0; at < p->n; at += CHUNK) {
        const int64_t n = p->n - at < CHUNK ? p->n - at : CHUNK;
        uint8_t *y = p->y + at;
        if (p->a_step && p->b_step) multiply(p, at, n, true, true, v);
        else if (p->a_step) multiply(p, at, n, true, false, v);
        else multiply(p, at, n, false, p->b_step, v);
        scale(p, n, v);
        for (int64_t i = 0; i < n; i++)
            y[i] = (uint8_t)ml_clamp_s32((int32_t)((uint32_t)v[i] + (uint32_t)p->zero), p->low,
                                         p->high);
    }
}
