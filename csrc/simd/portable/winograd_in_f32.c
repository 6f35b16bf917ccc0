/* winograd_in_f32.c -- winograd_in_f32 in the words of a level: B^T d B of patches d, channel by
 * channel. */
#include "simd/words.h"

#define INLINE __attribute__((always_inline)) static inline

enum { PATCH = ML_WINOGRAD_PATCH };

/* B^T of a line of a patch. */
INLINE void transform(const VECTOR *d, VECTOR *to) {
    const VECTOR half = SPLAT(0.5f), two = SPLAT(2.0f), middle = SPLAT(2.5f);
    const VECTOR near_even = FNMA(two, d[2], d[4]), near_odd = FNMA(two, d[1], d[3]);
    const VECTOR far_even = FNMA(half, d[2], d[4]), far_odd = FNMA(half, d[1], d[3]);
    const VECTOR near = SPLAT(0.70710678f), far = SPLAT(1.41421356f);
    to[0] = FNMA(middle, d[2], ADD(d[0], d[4]));
    to[1] = FMA(near, near_odd, near_even);
    to[2] = FNMA(near, near_odd, near_even);
    to[3] = FMA(far, far_odd, far_even);
    to[4] = FNMA(far, far_odd, far_even);
    to[5] = FNMA(middle, d[3], ADD(d[1], d[5]));
}

/* LANES channels of a patch, or the first `part` of them. */
INLINE void transform_patch(const ml_winograd_in_f32_args *p, const float *x, float *v,
                            int64_t part) {
    VECTOR lines[PATCH][PATCH];
    ML_UNROLL(6)
    for (int i = 0; i < PATCH; i++) {
        VECTOR d[PATCH];
        ML_UNROLL(6)
        for (int j = 0; j < PATCH; j++) {
            const float *from = x + i * p->x_line + j * p->channels;
            d[j] = part ? LOAD_PART(from, part) : LOAD(from);
        }
        transform(d, lines[i]);
    }
    ML_UNROLL(6)
    for (int j = 0; j < PATCH; j++) {
        VECTOR d[PATCH], made[PATCH];
        ML_UNROLL(6)
        for (int i = 0; i < PATCH; i++) d[i] = lines[i][j];
        transform(d, made);
        ML_UNROLL(6)
        for (int i = 0; i < PATCH; i++) {
            float *to = v + (i * PATCH + j) * p->v_position;
            if (part) STORE_PART(to, made[i], part);
            else STORE(to, made[i]);
        }
    }
}

/* The last vector of channels begins so early that it is whole, where there are as many. */
void ML_VARIANT(winograd_in_f32)(const ml_winograd_in_f32_args *args) {
    const ml_winograd_in_f32_args p = *args; /* a copy, not read again after each store */
    const int64_t c = p.channels;
    for (int64_t t = 0; t < p.tiles; t++) {
        const float *x = p.x + t * ML_WINOGRAD_TILE * c;
        float *v = p.v + t * c;
        if (c < LANES) transform_patch(&p, x, v, c);
        for (int64_t i = 0; i < c && c >= LANES; i += LANES) {
            const int64_t at = i + LANES <= c ? i : c - LANES;
            transform_patch(&p, x + at, v + at, 0);
        }
    }
}
