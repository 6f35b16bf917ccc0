/* dequantize_s8.c -- the plain meaning of dequantize_s8. */
#include "simd/variants.h"

void ml_dequantize_s8_scalar(const ml_quantize_s8_args *args) {
    const ml_quantize_s8_args p = *args; /* a copy, not read again after each store */
    const int32_t flip = p.is_signed ? 128 : 0;
    const uint8_t *y = p.y;
    float *x = p.x;
    /* (y ^ 128) - 128 is the signed byte. */
    for (int64_t i = 0; i < p.n; i++) x[i] = p.scale * (float)((y[i] ^ flip) - flip - p.zero);
}
