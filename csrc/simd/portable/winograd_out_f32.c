/* winograd_out_f32.c -- winograd_out_f32 in the words of a level: A^T m A of products m, with bias
 * and limits, output by output. */
#include "simd/words.h"

#define INLINE __attribute__((always_inline)) static inline

enum { TILE = ML_WINOGRAD_TILE, PATCH = ML_WINOGRAD_PATCH };

/* A^T of a line of products. */
INLINE void sum(const VECTOR *m, VECTOR *to) {
    const VECTOR even = ADD(m[1], m[2]), odd = SUB(m[1], m[2]);
    const VECTOR far_even = ADD(m[3], m[4]), far_odd = SUB(m[3], m[4]);
    const VECTOR near = SPLAT(0.70710678f), far = SPLAT(1.41421356f);
    const VECTOR near_3 = SPLAT(0.35355339f), far_3 = SPLAT(2.82842712f);
    to[0] = ADD(ADD(m[0], even), far_even);
    to[1] = FMA(far, far_odd, MUL(near, odd));
    to[2] = FMA(SPLAT(2.0f), far_even, MUL(SPLAT(0.5f), even));
    to[3] = FMA(far_3, far_odd, FMA(near_3, odd, m[5]));
}

/* Where a tile's outputs go: `lines` lines of `pixels` pixels, LANES outputs of each, or the first
 * `part`. */
typedef struct place {
    float *y;
    int64_t lines;
    int64_t pixels;
    int64_t part;
} place;

INLINE VECTOR load(const float *from, int64_t part) {
    return part ? LOAD_PART(from, part) : LOAD(from);
}

INLINE void sum_tile(const ml_winograd_out_f32_args *p, const float *m, const float *bias,
                     const place at) {
    VECTOR columns[TILE][PATCH];
    ML_UNROLL(6)
    for (int j = 0; j < PATCH; j++) {
        VECTOR from[PATCH], to[TILE];
        ML_UNROLL(6)
        for (int i = 0; i < PATCH; i++)
            from[i] = load(m + (i * PATCH + j) * p->m_position, at.part);
        sum(from, to);
        ML_UNROLL(4)
        for (int i = 0; i < TILE; i++) columns[i][j] = to[i];
    }
    const VECTOR first = bias ? load(bias, at.part) : SPLAT(0.0f);
    const VECTOR low = SPLAT(p->low), high = SPLAT(p->high);
    ML_UNROLL(4)
    for (int i = 0; i < TILE; i++) {
        VECTOR to[TILE];
        if (i >= at.lines) break;
        sum(columns[i], to);
        ML_UNROLL(4)
        for (int j = 0; j < TILE; j++) {
            float *y = at.y + i * p->y_line + j * p->n;
            if (j >= at.pixels) break;
            to[j] = CLAMP(ADD(to[j], first), low, high);
            if (at.part) STORE_PART(y, to[j], at.part);
            else STORE(y, to[j]);
        }
    }
}

/* The last vector of outputs begins so early that it is whole, where there are as many. */
void ML_VARIANT(winograd_out_f32)(const ml_winograd_out_f32_args *args) {
    const ml_winograd_out_f32_args p = *args; /* a copy, not read again after each store */
    const int64_t n = p.n;
    for (int64_t x = 0; x < p.pixels; x += TILE) {
        const float *m = p.m + x / TILE * n;
        place at = {.y = p.y + x * n, .lines = p.lines, .pixels = ml_min_s64(p.pixels - x, TILE)};
        if (n < LANES) {
            at.part = n;
            sum_tile(&p, m, p.bias, at);
        }
        for (int64_t i = 0; i < n && n >= LANES; i += LANES) {
            const int64_t from = i + LANES <= n ? i : n - LANES;
            at.y = p.y + x * n + from;
            if (at.lines == TILE && at.pixels == TILE)
                sum_tile(&p, m + from, p.bias ? p.bias + from : NULL,
                         (place){.y = at.y, .lines = TILE, .pixels = TILE});
            else sum_tile(&p, m + from, p.bias ? p.bias + from : NULL, at);
        }
    }
}
