/* add_s16.c -- eight sums at a time, each operand and then the sum scaled as in
 * neon/requantize.c. */
#include "simd/neon/intrinsics.h"
#include <string.h>

#include "simd/variants.h"

enum { LANES = 8 };

#define INLINE __attribute__((always_inline)) static inline

typedef struct scale {
    int32x4_t zero, mantissa, left, right;
} scale;

static scale scale_of(const ml_add_s16_scale *s) {
    return (scale){vdupq_n_s32(s->zero), vdupq_n_s32(s->mantissa),
                   vdupq_n_s32(s->shift > 0 ? s->shift : 0),
                   vdupq_n_s32(s->shift < 0 ? s->shift : 0)};
}

/* ml_multiply_quantized. */
INLINE int32x4_t multiply(int32x4_t v, const scale *s) {
    v = vqrdmulhq_s32(vshlq_s32(v, s->left), s->mantissa);
    const int32x4_t down = vshrq_n_s32(vandq_s32(v, s->right), 31);
    return vrshlq_s32(vaddq_s32(v, down), s->right);
}

INLINE int32x4_t term(int16x4_t words, const scale *s) {
    const int32x4_t x = vsubq_s32(vmovl_s16(words), s->zero);
    return multiply(vshlq_n_s32(x, ML_LEFT_S16), s);
}

INLINE int16x8_t load(const int16_t *x, int64_t at, int32_t step, int64_t count) {
    if (!step) return vdupq_n_s16(*x);
    if (count == LANES) return vld1q_s16(x + at);
    int16_t part[LANES] = {0};
    memcpy(part, x + at, (size_t)count * sizeof *x);
    return vld1q_s16(part);
}

typedef struct constants {
    scale of_a, of_b, of_y;
    int32x4_t low, high;
} constants;

INLINE int32x4_t add(const ml_add_s16_args *p, const constants *k, int16x4_t x, int16x4_t z) {
    const int32x4_t a = term(x, &k->of_a), b = term(z, &k->of_b);
    const int32x4_t sum = p->subtracts ? vsubq_s32(a, b) : vaddq_s32(a, b);
    const int32x4_t v = vaddq_s32(multiply(sum, &k->of_y), k->of_y.zero);
    return vminq_s32(k->high, vmaxq_s32(k->low, v));
}

INLINE int16x8_t some(const ml_add_s16_args *p, const constants *k, int64_t at, int64_t count) {
    const int16x8_t a = load(p->a, at, p->a_step, count), b = load(p->b, at, p->b_step, count);
    const int32x4_t front = add(p, k, vget_low_s16(a), vget_low_s16(b));
    return vmovn_high_s32(vmovn_s32(front), add(p, k, vget_high_s16(a), vget_high_s16(b)));
}

void ml_add_s16_neon(const ml_add_s16_args *args) {
    const ml_add_s16_args p = *args; /* a copy, not read again after each store */
    const constants k = {scale_of(&p.of_a), scale_of(&p.of_b), scale_of(&p.of_y),
                         vdupq_n_s32(p.low), vdupq_n_s32(p.high)};
    int64_t at = 0;
    for (; at + LANES <= p.n; at += LANES) vst1q_s16(p.y + at, some(&p, &k, at, LANES));
    if (at >= p.n) return;
    const int16x8_t rest = some(&p, &k, at, p.n - at);
    memcpy(p.y + at, &rest, (size_t)(p.n - at) * sizeof *p.y);
}
