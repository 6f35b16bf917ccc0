/* requantize_f64.c -- four columns at a time, as two pairs of doubles. */
#include <arm_neon.h>
#include <string.h>

#include "simd/variants.h"

enum { LANES = 4 };

static inline int32x2_t scale(int32x2_t sums, float64x2_t reals) {
    const float64x2_t most = vdupq_n_f64(1e9), least = vdupq_n_f64(-1e9);
    const float64x2_t half = vdupq_n_f64(0.49999999999999994);
    float64x2_t v = vmulq_f64(vcvtq_f64_s64(vmovl_s32(sums)), reals);
    v = vminq_f64(most, vmaxq_f64(least, v));
    v = vaddq_f64(v, vbslq_f64(vdupq_n_u64(UINT64_C(1) << 63), v, half));
    return vmovn_s64(vcvtq_s64_f64(v));
}

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
            int32x4_t v =
                vcombine_s32(scale(vget_low_s32(x), front), scale(vget_high_s32(x), back));
            v = vminq_s32(high, vmaxq_s32(low, vaddq_s32(v, zero)));
            const int16x4_t words = vmovn_s32(v);
            const int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
            memcpy(y, &bytes, (size_t)count);
        }
    }
}
