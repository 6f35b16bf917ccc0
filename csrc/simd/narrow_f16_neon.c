/* narrow_f16_neon.c -- four at a time by the processor's conversion, of which a NaN keeps its sign alone. */
#include <arm_neon.h>
#include <string.h>

#include "simd.h"

enum { LANES = 4, PAYLOAD = 0x01FF };

static inline void narrow(const float *x, uint16_t *y) {
    const float32x4_t v = vld1q_f32(x);
    const uint16x4_t nan = vmvn_u16(vmovn_u32(vceqq_f32(v, v)));
    const uint16x4_t lost = vand_u16(nan, vdup_n_u16(PAYLOAD));
    vst1_u16(y, vbic_u16(vreinterpret_u16_f16(vcvt_f16_f32(v)), lost));
}

void ml_narrow_f16_neon(const float *x, int64_t n, uint16_t *y) {
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) narrow(x + at, y + at);
    if (at >= n) return;
    float rest[LANES] = {0};
    uint16_t half[LANES];
    memcpy(rest, x + at, (size_t)(n - at) * sizeof *x);
    narrow(rest, half);
    memcpy(y + at, half, (size_t)(n - at) * sizeof *y);
}
