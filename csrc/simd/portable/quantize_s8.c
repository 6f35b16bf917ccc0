/* quantize_s8.c -- quantize_s8 in the words of a level.
 *
 * Some vectors at a time are multiplied by the inverse of the scale, in 65536ths of a step. That
 * gives the same bits as the exact division, unless a result is so near to the middle between two
 * steps that errors could move it across; then all of them are divided. */
#include "simd/words.h"

#define INLINE __attribute__((always_inline)) static inline

enum {
    LINE = 16, /* floats in a line of the cache */
    AHEAD = 64 * LINE, /* floats that are fetched ahead */
    PARTS = 1 << 16,
    NEAR_PARTS = 8 /* parts: products of up to 256 steps are within 4 of quotients */
};
#define MIDDLE ((float)(PARTS / 2 + NEAR_PARTS / 2))

typedef struct step_constants {
    VECTOR scale, least, most;
    VECTOR parts, most_parts, half; /* of a step */
    VECTOR_S32 zero, apart;
    VECTOR_S16 zero_words;
} step_constants;

static step_constants steps_of(const ml_quantize_s8_args *p, const bool is_signed) {
    const int32_t low = is_signed ? INT8_MIN : 0;
    const float least = (float)(low - p->zero), most = (float)(low + 255 - p->zero);
    return (step_constants){.scale = SPLAT(p->scale),
                            .least = SPLAT(least),
                            .most = SPLAT(most),
                            .parts = SPLAT((float)PARTS / p->scale),
                            .most_parts = SPLAT(most * (float)PARTS + MIDDLE),
                            .half = SPLAT(MIDDLE),
                            .zero = SPLAT_S32(p->zero),
                            .apart = SPLAT_S32(PARTS - NEAR_PARTS),
                            .zero_words = SPLAT_S16(p->zero)};
}

/* The limits turn NaN into the least value. */
INLINE VECTOR_S32 divide_by_scale(const step_constants *k, VECTOR x) {
    const VECTOR v = MIN(MAX(DIV(x, k->scale), k->least), k->most);
    return ADD_S32(TRUNCATED(ADD(v, XOR(SPLAT(0.49999997f), SIGN(v)))), k->zero);
}

/* NaN, and numbers too small for int32, become its least number, which counts as near a middle. */
INLINE VECTOR_S32 multiply_by_inverse(const step_constants *k, VECTOR x) {
    return NEAREST_OR_LEAST(MIN(k->most_parts, FMA(x, k->parts, k->half)));
}

INLINE void quantize_bytes(const ml_quantize_s8_args *args, const bool is_signed) {
    const ml_quantize_s8_args p = *args; /* a copy, not read again after each store */
    const step_constants k = steps_of(&p, is_signed);
    int64_t at = 0;
    for (; at + JOINED * LANES <= p.n; at += JOINED * LANES) {
        const float *x = p.x + at;
        VECTOR_S32 v[JOINED];
        ML_UNROLL(4)
        for (int i = 0; i < JOINED; i++) {
            if (i * LANES % LINE == 0) __builtin_prefetch(x + i * LANES + AHEAD);
            v[i] = multiply_by_inverse(&k, LOAD(x + i * LANES));
        }
        if (!ANY_LOWER_BELOW(v, k.apart)) {
            STORE_U8(p.y + at, JOIN_UPPER(v, k.zero_words, is_signed));
            continue;
        }
        ML_UNROLL(4)
        for (int i = 0; i < JOINED; i++) v[i] = divide_by_scale(&k, LOAD(x + i * LANES));
        STORE_U8(p.y + at, JOIN(v, is_signed));
    }
    for (; at + LANES <= p.n; at += LANES) NARROW(p.y + at, divide_by_scale(&k, LOAD(p.x + at)));
    const int64_t left = p.n - at;
    if (left) NARROW_PART(p.y + at, divide_by_scale(&k, LOAD_PART(p.x + at, left)), left);
}

void ML_VARIANT(quantize_s8)(const ml_quantize_s8_args *p) {
    if (p->scale < 1e-30f) ml_quantize_s8_scalar(p); /* parts would be infinite */
    else if (p->is_signed) quantize_bytes(p, true);
    else quantize_bytes(p, false);
}
