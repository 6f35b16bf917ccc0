/* softmax_s8.c -- exponentials are looked up one by one, some at a time; everything else is in
 * vectors. */
#include "simd/neon/intrinsics.h"

#include "simd/variants.h"

enum { LANES = 16, CHUNK = 64 };

static uint8_t find_most(const uint8_t *x, int64_t n, uint8_t flip) {
    uint8x16_t v = vdupq_n_u8(0);
    uint8_t most = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) v = vmaxq_u8(v, veorq_u8(vld1q_u8(x + i), vdupq_n_u8(flip)));
    for (; i < n; i++) most = (x[i] ^ flip) > most ? x[i] ^ flip : most;
    return vmaxvq_u8(v) > most ? vmaxvq_u8(v) : most;
}

/* The exponentials of `count` bytes, at most CHUNK; 0 for missing bytes of a vector. */
static void look_up(const ml_softmax_s8_args *p, const uint8_t *x, int64_t count, uint8_t flip,
                    uint8_t most, int32_t exps[CHUNK]) {
    for (int64_t i = 0; i < count; i++) exps[i] = p->exps[(uint8_t)(most - (x[i] ^ flip))];
    for (int64_t i = count; i % LANES != 0; i++) exps[i] = 0;
}

/* Exponentials in Q12.19, which are below 2^20. */
static uint32_t sum_of(const int32_t *exps, int64_t count) {
    int32x4_t sum = vdupq_n_s32(0);
    for (int64_t i = 0; i < count; i += 4)
        sum = vaddq_s32(sum, vrshrq_n_s32(vld1q_s32(exps + i), 12));
    return vaddvq_u32(vreinterpretq_u32_s32(sum));
}

/* No product is negative, so rounding half up is rounding half away from 0. */
static inline uint16x4_t scaled(const int32_t *exps, const ml_softmax_scale *scale) {
    const int32x4_t v = vqrdmulhq_n_s32(vld1q_s32(exps), scale->reciprocal);
    return vqmovun_s32(vrshlq_s32(v, vdupq_n_s32(-scale->shift)));
}

static void put(const int32_t *exps, const ml_softmax_scale *scale, int64_t count, uint8_t flip,
                uint8_t *y) {
    uint8_t made[CHUNK];
    for (int64_t i = 0; i < count; i += LANES) {
        const uint16x8_t front = vcombine_u16(scaled(exps + i, scale), scaled(exps + i + 4, scale));
        const uint16x8_t back =
            vcombine_u16(scaled(exps + i + 8, scale), scaled(exps + i + 12, scale));
        const uint8x16_t v = vqmovn_high_u16(vqmovn_u16(front), back);
        vst1q_u8(made + i, veorq_u8(v, vdupq_n_u8(flip)));
    }
    for (int64_t i = 0; i < count; i++) y[i] = made[i];
}

static void softmax_row(const ml_softmax_s8_args *p, const uint8_t *x, uint8_t *y) {
    const uint8_t flip = p->is_signed ? 128 : 0, most = find_most(x, p->n, flip);
    int32_t exps[CHUNK];
    int64_t sum = 0;
    for (int64_t at = 0, count; at < p->n; at += count) {
        count = p->n - at < CHUNK ? p->n - at : CHUNK;
        look_up(p, x + at, count, flip, most, exps);
        sum += sum_of(exps, count);
    }
    const ml_softmax_scale scale = ml_softmax_scale_of(sum);
    for (int64_t at = 0, count; at < p->n; at += count) {
        count = p->n - at < CHUNK ? p->n - at : CHUNK;
        if (p->n > CHUNK) look_up(p, x + at, count, flip, most, exps);
        put(exps, &scale, count, flip, y + at);
    }
}

void ml_softmax_s8_neon(const ml_softmax_s8_args *p) {
    for (int64_t row = 0; row < p->rows; row++)
        if (p->n > 0) softmax_row(p, p->x + row * p->n, p->y + row * p->n);
}
