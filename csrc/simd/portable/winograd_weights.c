/* winograd_weights.c -- winograd_weights in the words of a level: G w G^T of filters w, a vector of
 * outputs and channels at a time. */
#include "simd/words.h"

#define INLINE __attribute__((always_inline)) static inline

enum { SIZE = 3, MOST_SIDE = 6 };

INLINE VECTOR_S16 six_times(VECTOR_S16 w) {
    return ADD_S16(SHIFT_LEFT_S16(w, 2), SHIFT_LEFT_S16(w, 1));
}

/* G of a line of a filter, scaled as api/simd.h says. */
INLINE void transform(const VECTOR_S16 *w, VECTOR_S16 *to, const int tile) {
    const VECTOR_S16 outer = ADD_S16(w[0], w[2]);
    const VECTOR_S16 sum = ADD_S16(outer, w[1]), difference = SUB_S16(outer, w[1]);
    if (tile == 2) {
        to[0] = SHIFT_LEFT_S16(w[0], 1);
        to[1] = sum;
        to[2] = difference;
        to[3] = SHIFT_LEFT_S16(w[2], 1);
        return;
    }
    const VECTOR_S16 none = SUB_S16(sum, sum), far = ADD_S16(w[0], SHIFT_LEFT_S16(w[2], 2));
    const VECTOR_S16 twice = SHIFT_LEFT_S16(w[1], 1);
    to[0] = six_times(w[0]);
    to[1] = SUB_S16(none, SHIFT_LEFT_S16(sum, 1));
    to[2] = SUB_S16(none, SHIFT_LEFT_S16(difference, 1));
    to[3] = ADD_S16(far, twice);
    to[4] = SUB_S16(far, twice);
    to[5] = six_times(w[2]);
}

/* Pixels of a window, and of a patch, along a side on which the tile has `size`. */
INLINE int window_side(const int size) { return size == 1 ? 1 : SIZE; }
INLINE int patch_side(const int size) { return size == 1 ? 1 : size + 2; }

INLINE void transform_along(const VECTOR_S16 *w, VECTOR_S16 *to, const int size) {
    if (size == 1) to[0] = w[0];
    else transform(w, to, size);
}

INLINE void transform_filters(const ml_winograd_weights_args *p, int64_t at, const int tile_h,
                              const int tile_w) {
    const int lines = window_side(tile_h), taps = window_side(tile_w);
    const int high = patch_side(tile_h), wide = patch_side(tile_w);
    const VECTOR_S16 zero = SPLAT_S16(p->zero);
    VECTOR_S16 across[SIZE][MOST_SIDE];
    ML_UNROLL(3)
    for (int i = 0; i < lines; i++) {
        VECTOR_S16 w[SIZE];
        ML_UNROLL(3)
        for (int j = 0; j < taps; j++)
            w[j] = SUB_S16(WIDEN_S16(p->w + (i * taps + j) * ML_PAIRS_S16 + at), zero);
        transform_along(w, across[i], tile_w);
    }
    ML_UNROLL(6)
    for (int j = 0; j < wide; j++) {
        VECTOR_S16 w[SIZE], made[MOST_SIDE];
        ML_UNROLL(3)
        for (int i = 0; i < lines; i++) w[i] = across[i][j];
        transform_along(w, made, tile_h);
        ML_UNROLL(6)
        for (int i = 0; i < high; i++)
            STORE_S16(p->v + (i * wide + j) * p->v_position + at, made[i]);
    }
}

INLINE void transform_pairs(const ml_winograd_weights_args *args, const int tile_h,
                            const int tile_w) {
    const ml_winograd_weights_args p = *args; /* a copy, not read again after each store */
    for (int64_t at = 0; at < ML_PAIRS_S16; at += LANES_S16)
        transform_filters(&p, at, tile_h, tile_w);
}

void ML_VARIANT(winograd_weights)(const ml_winograd_weights_args *p) {
    if (p->tile_h == 1) transform_pairs(p, 1, 4);
    else if (p->tile_w == 1) transform_pairs(p, 4, 1);
    else if (p->tile_w == 2) transform_pairs(p, 2, 2);
    else transform_pairs(p, 4, 4);
}
