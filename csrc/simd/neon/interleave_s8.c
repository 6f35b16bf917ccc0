/* interleave_s8.c -- bytes of a line as int16, 32 at a time; the last eight cover the rest, and
 * some of them are written twice. */
#include "simd/neon/intrinsics.h"

#include "simd/variants.h"

enum { LANES = 16, HALF = 8 };

static inline void widen_half(const uint8_t *x, uint8x16_t flip, uint16_t *y) {
    vst1q_u16(y, vmovl_u8(veor_u8(vld1_u8(x), vget_low_u8(flip))));
}

static inline void widen_whole(const uint8_t *x, uint8x16_t flip, uint16_t *y) {
    const uint8x16_t bytes = veorq_u8(vld1q_u8(x), flip);
    vst1q_u16(y, vmovl_u8(vget_low_u8(bytes)));
    vst1q_u16(y + HALF, vmovl_high_u8(bytes));
}

static void widen(const uint8_t *x, int64_t count, uint8x16_t flip, uint16_t *y) {
    int64_t at = 0;
    for (; at + 2 * LANES <= count; at += 2 * LANES) {
        widen_whole(x + at, flip, y + at);
        widen_whole(x + at + LANES, flip, y + at + LANES);
    }
    if (at + LANES <= count) widen_whole(x + at, flip, y + at), at += LANES;
    if (at + HALF <= count) widen_half(x + at, flip, y + at), at += HALF;
    if (at < count) widen_half(x + count - HALF, flip, y + count - HALF);
}

static void fill(uint16_t *y, int64_t count, uint16x8_t pad) {
    int64_t at = 0;
    for (; at + LANES <= count; at += LANES) vst1q_u16(y + at, pad), vst1q_u16(y + at + HALF, pad);
    if (at + HALF <= count) vst1q_u16(y + at, pad), at += HALF;
    if (at < count) vst1q_u16(y + count - HALF, pad);
}

void ml_interleave_s8_neon(const ml_interleave_s8_args *p) {
    const uint8_t *x = p->lines[0];
    uint16_t *y = p->y;
    if (p->count < HALF)
        for (int64_t i = 0; i < p->count; i++) y[i] = (uint16_t)(x ? x[i] ^ p->flip : p->pad);
    else if (x) widen(x, p->count, vdupq_n_u8((uint8_t)p->flip), y);
    else fill(y, p->count, vdupq_n_u16((uint16_t)p->pad));
}
