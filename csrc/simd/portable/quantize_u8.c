/* quantize_u8.c -- quantize_u8 in the words of a level. */
#include "simd/words.h"

typedef struct row_constants {
    VECTOR inverse, least, most;
    VECTOR_S32 zero;
} row_constants;

static inline VECTOR_S32 quantize_lanes(const row_constants *k, VECTOR x) {
    const VECTOR v = MIN(MAX(MUL(x, k->inverse), k->least), k->most);
    return ADD_S32(TRUNCATED(ADD(v, XOR(SPLAT(0.49999997f), SIGN(v)))), k->zero);
}

void ML_VARIANT(quantize_u8)(const ml_quantize_u8_args *args) {
    const ml_quantize_u8_args p = *args; /* a copy, not read again after each store */
    const row_constants k = {SPLAT(p.inverse), SPLAT((float)(p.low - p.zero)),
                             SPLAT((float)(127 - p.zero)), SPLAT_S32(p.zero + 128)};
    int64_t at = 0;
    for (; at + JOINED * LANES <= p.n; at += JOINED * LANES) {
        VECTOR_S32 v[JOINED];
        ML_UNROLL(4)
        for (int i = 0; i < JOINED; i++) v[i] = quantize_lanes(&k, LOAD(p.x + at + i * LANES));
        STORE_U8(p.y + at, JOIN(v, false));
    }
    for (; at + LANES <= p.n; at += LANES) NARROW(p.y + at, quantize_lanes(&k, LOAD(p.x + at)));
    const int64_t left = p.n - at;
    if (left) NARROW_PART(p.y + at, quantize_lanes(&k, LOAD_PART(p.x + at, left)), left);
}
