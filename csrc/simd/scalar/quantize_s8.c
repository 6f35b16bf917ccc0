/* quantize_s8.c -- the plain meaning of quantize_s8. */
#include "simd/variants.h"

void ml_quantize_s8_scalar(const ml_quantize_s8_args *args) {
    const ml_quantize_s8_args p = *args; /* a copy, not read again after each store */
    const int32_t low = p.is_signed ? INT8_MIN : 0;
    const float least = (float)(low - p.zero), most = (float)(low + 255 - p.zero);
    ML_IVDEP
    for (int64_t i = 0; i < p.n; i++) {
        float v = p.x[i] / p.scale;
        v = v > least ? v : least;
        v = v < most ? v : most;
        v += v < 0.0f ? -0.49999997f : 0.49999997f;
        p.y[i] = (uint8_t)((int32_t)v + p.zero);
    }
}
