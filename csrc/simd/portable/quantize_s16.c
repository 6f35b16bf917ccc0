/* quantize_s16.c -- quantize_s16 in plain C, which the compiler vectorizes for a level. */
#include "simd/variants.h"

/* Clamping before the conversion keeps it defined, and changes nothing: the limits are integers. */
void ML_VARIANT(quantize_s16)(const ml_quantize_s16_args *args) {
    const ml_quantize_s16_args p = *args; /* a copy, not read again after each store */
    const float least = (float)(INT16_MIN - p.zero), most = (float)(INT16_MAX - p.zero);
    ML_IVDEP
    for (int64_t i = 0; i < p.n; i++) {
        float v = p.x[i] / p.scale;
        v = v > least ? v : least;
        v = v < most ? v : most;
        v += __builtin_copysignf(0.49999997f, v);
        p.y[i] = (int16_t)((int32_t)v + p.zero);
    }
}
