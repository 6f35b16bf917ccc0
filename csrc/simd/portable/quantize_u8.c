/* quantize_u8.c -- quantize_u8 in the words of a level. */
#include "simd/words.h"

typedef struct row_constants {
    VECTOR zero, inverse, low;
} row_constants;

static inline VECTOR_S32 quantize_lanes(const row_constants *k, VECTOR x) {
    const VECTOR v = MIN(MAX(ADD(k->zero, MUL(x, k->inverse)), k->low), SPLAT(127.0f));
    const VECTOR half = XOR(SPLAT(0.49999997f), SIGN(v));
    return TRUNCATED(ADD(v, half));
}

void ML_VARIANT(quantize_u8)(const ml_quantize_u8_args *args) {
    const ml_quantize_u8_args p = *args; /* a copy, which stores do not change */
    const row_constants k = {SPLAT(p.zero), SPLAT(p.inverse), SPLAT(p.low)};
    const VECTOR_U8 flip = SPLAT_U8(128);
    const VECTOR_S32 middle = SPLAT_S32(128);
    int64_t at = 0;
    for (; at + JOINED * LANES <= p.n; at += JOINED * LANES) {
        VECTOR_S32 v[JOINED];
        ML_UNROLL(4)
        for (int i = 0; i < JOINED; i++) v[i] = quantize_lanes(&k, LOAD(p.x + at + i * LANES));
        STORE_U8(p.y + at, XOR_U8(JOIN(v, true), flip));
    }
    for (; at + LANES <= p.n; at += LANES)
        NARROW(p.y + at, ADD_S32(quantize_lanes(&k, LOAD(p.x + at)), middle));
    const int64_t left = p.n - at;
    if (left)
        NARROW_PART(p.y + at, ADD_S32(quantize_lanes(&k, LOAD_PART(p.x + at, left)), middle), left);
}
