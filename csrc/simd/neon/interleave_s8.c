/* interleave_s8.c -- bytes of a line as int16, sixteen at a time. */
#include <arm_neon.h>

#include "simd/variants.h"

enum { LANES = 16 };

static void fill(int16_t *y, int64_t count, int16_t pad) {
    for (int64_t at = 0; at < count; at++) y[at] = pad;
}

void ml_interleave_s8_neon(const ml_interleave_s8_args *p) {
    const uint8x16_t flip = vdupq_n_u8((uint8_t)p->flip);
    const uint8_t *x = p->lines[0];
    int16_t *y = p->y;
    int64_t at = 0;
    if (!x) {
        fill(y, p->count, (int16_t)p->pad);
        return;
    }
    for (; at + LANES <= p->count; at += LANES) {
        const uint8x16_t bytes = veorq_u8(vld1q_u8(x + at), flip);
        vst1q_u16((uint16_t *)y + at, vmovl_u8(vget_low_u8(bytes)));
        vst1q_u16((uint16_t *)y + at + 8, vmovl_high_u8(bytes));
    }
    for (; at < p->count; at++) y[at] = (int16_t)(x[at] ^ p->flip);
}
