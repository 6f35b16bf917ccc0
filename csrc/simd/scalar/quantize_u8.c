/* quantize_u8.c -- the plain meaning of quantize_u8. */
#include "simd/variants.h"

void ml_quantize_u8_scalar(const ml_quantize_u8_args *p) {
    for (int64_t i = 0; i < p->n; i++) {
        float v = p->zero + p->x[i] * p->inverse;
        v = v > p->low ? v : p->low;
        v = v < 127.0f ? v : 127.0f;
        p->y[i] = (uint8_t)((int32_t)(v + (v < 0.0f ? -0.49999997f : 0.49999997f)) + 128);
    }
}
