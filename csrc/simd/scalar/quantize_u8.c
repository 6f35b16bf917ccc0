/* quantize_u8.c -- the plain meaning of quantize_u8. */
#include "simd/variants.h"

void ml_quantize_u8_scalar(const ml_quantize_u8_args *p) {
    const float least = (float)(p->low - p->zero), most = (float)(127 - p->zero);
    for (int64_t i = 0; i < p->n; i++) {
        float v = p->x[i] * p->inverse;
        v = v > least ? v : least;
        v = v < most ? v : most;
        v += v < 0.0f ? -0.49999997f : 0.49999997f;
        p->y[i] = (uint8_t)((int32_t)v + p->zero + 128);
    }
}
