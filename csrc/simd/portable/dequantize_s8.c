/* dequantize_s8.c -- dequantize_s8 in the words of a level. */
#include "simd/words.h"

#define INLINE __attribute__((always_inline)) static inline

INLINE void dequantize_bytes(const ml_quantize_s8_args *p, const bool is_signed) {
    const VECTOR scale = SPLAT(p->scale);
    const VECTOR_S32 zero = SPLAT_S32(p->zero);
    const uint8_t *y = p->y;
    float *x = p->x;
    const int64_t n = p->n;
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES)
        STORE(x + at, MUL(scale, FLOATS(SUB_S32(WIDEN(y + at, is_signed), zero))));
    const int64_t left = n - at;
    if (!left) return;
    const VECTOR_S32 v = SUB_S32(WIDEN_PART(y + at, left, is_signed), zero);
    STORE_PART(x + at, MUL(scale, FLOATS(v)), left);
}

void ML_VARIANT(dequantize_s8)(const ml_quantize_s8_args *p) {
    if (p->is_signed) dequantize_bytes(p, true);
    else dequantize_bytes(p, false);
}
