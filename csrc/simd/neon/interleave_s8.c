/* interleave_s8.c -- pairs of int16, sixteen bytes of each line at a time. */
#include <arm_neon.h>

#include "simd/variants.h"

enum { LANES = 16 };

static inline uint8x16_t load(const uint8_t *line, int64_t at, uint8x16_t flip, uint8x16_t pad) {
    return line ? veorq_u8(vld1q_u8(line + at), flip) : pad;
}

void ml_interleave_s8_neon(const ml_interleave_s8_args *p) {
    const uint8x16_t pad = vdupq_n_u8((uint8_t)p->pad), flip = vdupq_n_u8((uint8_t)p->flip);
    uint16_t *y = p->y;
    int64_t at = 0;
    for (; at + LANES <= p->count; at += LANES) {
        const uint8x16_t a = load(p->lines[0], at, flip, pad), b = load(p->lines[1], at, flip, pad);
        const uint8x16_t low = vzip1q_u8(a, b), high = vzip2q_u8(a, b);
        uint16_t *to = y + 2 * at;
        vst1q_u16(to, vmovl_u8(vget_low_u8(low)));
        vst1q_u16(to + 8, vmovl_high_u8(low));
        vst1q_u16(to + 16, vmovl_u8(vget_low_u8(high)));
        vst1q_u16(to + 24, vmovl_high_u8(high));
    }
    for (; at < p->count; at++)
        for (int line = 0; line < 2; line++)
            y[2 * at + line] = (uint16_t)(p->lines[line] ? p->lines[line][at] ^ p->flip : p->pad);
}
