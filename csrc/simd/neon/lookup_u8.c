/* lookup_u8.c -- the table is in four groups of four vectors; a byte that is not in a group leaves
 * the result of the others. */
#include <arm_neon.h>

#include "simd/variants.h"

enum { LANES = 16, PARTS = 4, ENTRIES = 64 };

static inline uint8x16_t look_up(uint8x16_t x, const uint8x16x4_t *parts) {
    uint8x16_t y = vqtbl4q_u8(parts[0], x);
    ML_UNROLL(4)
    for (uint8_t i = 1; i < PARTS; i++)
        y = vqtbx4q_u8(y, parts[i], vsubq_u8(x, vdupq_n_u8((uint8_t)(ENTRIES * i))));
    return y;
}

void ml_lookup_u8_neon(const uint8_t *table, const ml_byte_lines *lines, const uint8_t *x,
                       int64_t n, uint8_t *y) {
    uint8x16x4_t parts[PARTS];
    for (int i = 0; i < PARTS; i++) parts[i] = vld1q_u8_x4(table + ENTRIES * i);
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) vst1q_u8(y + at, look_up(vld1q_u8(x + at), parts));
    for (; at < n; at++) y[at] = table[x[at]];
}
