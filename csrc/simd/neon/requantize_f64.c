/* requantize_f64.c -- four columns at a time, as two pairs of doubles. */
#include <string.h>

#include "simd/neon/requantize_block.h"
#include "simd/variants.h"

enum { LANES = 4 };

void ml_requantize_f64_neon(const ml_requantize_f64_args *p) {
    const int32x4_t zero = vdupq_n_s32(p->zero);
    const int32x4_t low = vdupq_n_s32(p->low), high = vdupq_n_s32(p->high);
    for (int64_t column = 0; column < p->n; column += LANES) {
        const int count = (int)(p->n - column < LANES ? p->n - column : LANES);
        const int32_t *sums = p->sums + column;
        int8_t *y = p->y + column;
        double reals[LANES] = {0};
        int32_t part[LANES] = {0};
        memcpy(reals, p->reals + column, (size_t)count * sizeof *reals);
        const float64x2_t front = vld1q_f64(reals), back = vld1q_f64(reals + 2);
        for (int64_t row = 0; row < p->rows; row++, sums += p->sums_stride, y += p->y_stride) {
            if (count < LANES) memcpy(part, sums, (size_t)count * sizeof *sums);
            const int32x4_t x = vld1q_s32(count < LANES ? part : sums);
            const int32x4_t scaled = vqaddq_s32(scale_real(x, front, back), zero);
            const int32x4_t v = vminq_s32(high, vmaxq_s32(low, scaled));
            const int16x4_t words = vmovn_s32(v);
            const int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
            memcpy(y, &bytes, (size_t)count);
        }
    }
}
