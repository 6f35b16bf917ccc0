/* requantize.c -- sixteen columns at a time, whose multipliers stay in registers from row to
 * row.
 *
 * SQRDMULH is exactly SaturatingRoundingDoublingHighMul, because mantissas are 0 or above. Its
 * result is above INT32_MIN. The rounding shift rounds half up; if 1 is subtracted, negative
 * numbers are rounded half away from zero. */
#include "simd/neon/intrinsics.h"
#include <string.h>

#include "simd/variants.h"

enum { LANES = 4, WIDE = 4 /* vectors */ };

#define INLINE __attribute__((always_inline)) static inline

typedef struct column_block {
    int32x4_t bias, mantissas;
    int32x4_t left; /* shifts to the left */
    int32x4_t right; /* shifts to the right, as numbers below 0 */
} column_block;

INLINE int32x4_t load(const int32_t *p, int count) {
    if (count == LANES) return vld1q_s32(p);
    int32_t lanes[LANES] = {0};
    memcpy(lanes, p, (size_t)count * sizeof *p);
    return vld1q_s32(lanes);
}

INLINE column_block load_block(const ml_requantize_args *p, int64_t column, int count) {
    const int32x4_t nothing = vdupq_n_s32(0), shifts = load(p->shifts + column, count);
    return (column_block){.bias = p->bias ? load(p->bias + column, count) : nothing,
                          .mantissas = load(p->mantissas + column, count),
                          .left = vmaxq_s32(shifts, nothing),
                          .right = vminq_s32(shifts, nothing)};
}

INLINE int32x4_t scale(int32x4_t v, const column_block *b) {
    v = vqrdmulhq_s32(vshlq_s32(vaddq_s32(v, b->bias), b->left), b->mantissas);
    const int32x4_t down = vshrq_n_s32(vandq_s32(v, b->right), 31);
    return vrshlq_s32(vaddq_s32(v, down), b->right);
}

/* Requantizes `vectors` (a constant) vectors of columns of all rows; the first `count` columns of a
 * single one. */
INLINE void columns(const ml_requantize_args *p, int64_t column, const int vectors, int count) {
    const int32x4_t zero = vdupq_n_s32(p->zero);
    const int32x4_t low = vdupq_n_s32(p->low), high = vdupq_n_s32(p->high);
    const int32_t *sums = p->sums + column;
    int8_t *y = p->y + column;
    column_block blocks[WIDE];
    ML_UNROLL(4)
    for (int i = 0; i < vectors; i++) blocks[i] = load_block(p, column + i * LANES, count);
    for (int64_t row = 0; row < p->rows; row++, sums += p->sums_stride, y += p->y_stride) {
        int32x4_t v[WIDE] = {zero, zero, zero, zero};
        ML_UNROLL(4)
        for (int i = 0; i < vectors; i++) {
            v[i] = vaddq_s32(scale(load(sums + i * LANES, count), &blocks[i]), zero);
            v[i] = vminq_s32(high, vmaxq_s32(low, v[i]));
        }
        const int16x8_t front = vmovn_high_s32(vmovn_s32(v[0]), v[1]);
        const int16x8_t back = vmovn_high_s32(vmovn_s32(v[2]), v[3]);
        const int8x16_t bytes = vmovn_high_s16(vmovn_s16(front), back);
        if (vectors == WIDE) vst1q_s8(y, bytes);
        else memcpy(y, &bytes, (size_t)count);
    }
}

void ml_requantize_neon(const ml_requantize_args *p) {
    int64_t column = 0;
    for (; column + WIDE * LANES <= p->n; column += WIDE * LANES) columns(p, column, WIDE, LANES);
    for (; column < p->n; column += LANES)
        columns(p, column, 1, p->n - column < LANES ? (int)(p->n - column) : LANES);
}
