/* widen_f16_neon.c -- four at a time by the processor's conversion. */
#include <arm_neon.h>
#include <string.h>

#include "simd.h"

enum { LANES = 4 };

static inline float32x4_t widen(const uint16_t *x) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x)));
}

void ml_widen_f16_neon(const uint16_t *x, int64_t n, float *y) {
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) vst1q_f32(y + at, widen(x + at));
    if (at >= n) return;
    uint16_t rest[LANES] = {0};
    float wide[LANES];
    memcpy(rest, x + at, (size_t)(n - at) * sizeof *x);
    vst1q_f32(wide, widen(rest));
    memcpy(y + at, wide, (size_t)(n - at) * sizeof *y);
}
