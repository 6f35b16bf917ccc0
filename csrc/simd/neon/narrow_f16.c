/* narrow_f16.c -- four at a time by the processor's conversion; a NaN keeps only its sign. */
#include <arm_neon.h>

#include "simd/variants.h"

enum { LANES = 4, PAYLOAD = 0x01FF };

static inline void convert(const float *x, uint16_t *y) {
    const float32x4_t v = vld1q_f32(x);
    const uint16x4_t nan = vmvn_u16(vmovn_u32(vceqq_f32(v, v)));
    const uint16x4_t lost = vand_u16(nan, vdup_n_u16(PAYLOAD));
    vst1_u16(y, vbic_u16(vreinterpret_u16_f16(vcvt_f16_f32(v)), lost));
}

#define FROM float
#define TO uint16_t
#include "simd/tiles/convert_f16.h"

void ml_narrow_f16_neon(const float *x, int64_t n, uint16_t *y) { convert_row(x, n, y); }
