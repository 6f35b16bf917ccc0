/* widen_f16.c -- four at a time by the processor's conversion. */
#include <arm_neon.h>

#include "simd/variants.h"

enum { LANES = 4 };

static inline void convert(const uint16_t *x, float *y) {
    vst1q_f32(y, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x))));
}

#define FROM uint16_t
#define TO float
#include "simd/tiles/convert_f16.h"

void ml_widen_f16_neon(const uint16_t *x, int64_t n, float *y) { convert_row(x, n, y); }
