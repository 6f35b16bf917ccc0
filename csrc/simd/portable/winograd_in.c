/* winograd_in.c -- winograd_in in the words of a level: B^T d B of patches d, by channels. */
#include "simd/words.h"

#define INLINE __attribute__((always_inline)) static inline

enum { MOST_SIDE = 6 };

/* B^T of a line of a patch, for the points 0, 1, -1 and infinity. */
INLINE void transform_2(const VECTOR_S16 *d, VECTOR_S16 *to) {
    to[0] = SUB_S16(d[0], d[2]);
    to[1] = ADD_S16(d[1], d[2]);
    to[2] = SUB_S16(d[2], d[1]);
    to[3] = SUB_S16(d[3], d[1]);
}

/* The same for 0, 1, -1, 2, -2 and infinity. */
INLINE void transform_4(const VECTOR_S16 *d, VECTOR_S16 *to) {
    const VECTOR_S16 odd = SUB_S16(d[3], d[1]), even = SUB_S16(d[4], d[2]);
    const VECTOR_S16 far_odd = SUB_S16(d[3], SHIFT_LEFT_S16(d[1], 2));
    const VECTOR_S16 far_even = SUB_S16(d[4], SHIFT_LEFT_S16(d[2], 2));
    to[0] = ADD_S16(SHIFT_LEFT_S16(SUB_S16(d[0], d[2]), 2), even);
    to[1] = ADD_S16(far_even, far_odd);
    to[2] = SUB_S16(far_even, far_odd);
    to[3] = ADD_S16(even, ADD_S16(odd, odd));
    to[4] = SUB_S16(even, ADD_S16(odd, odd));
    to[5] = SUB_S16(SUB_S16(d[5], d[3]), SHIFT_LEFT_S16(odd, 2));
}

INLINE void transform(const VECTOR_S16 *d, VECTOR_S16 *to, const int size) {
    if (size == 1) to[0] = d[0];
    else if (size == 2) transform_2(d, to);
    else transform_4(d, to);
}

/* Pixels of a patch along a side on which its tile has `size`. */
INLINE int patch_side(const int size) { return size == 1 ? 1 : size + 2; }

/* LANES_S16 channels of a patch, or the first `part` of them. */
INLINE void transform_patch(const ml_winograd_in_args *p, const int8_t *x, int16_t *v, int64_t part,
                            const int tile_h, const int tile_w) {
    const int high = patch_side(tile_h), wide = patch_side(tile_w);
    VECTOR_S16 lines[MOST_SIDE][MOST_SIDE];
    ML_UNROLL(6)
    for (int i = 0; i < high; i++) {
        VECTOR_S16 d[MOST_SIDE];
        ML_UNROLL(6)
        for (int j = 0; j < wide; j++) {
            const int8_t *from = x + i * p->x_line + j * p->channels;
            d[j] = part ? WIDEN_PART_S16(from, part) : WIDEN_S16(from);
        }
        transform(d, lines[i], tile_w);
    }
    ML_UNROLL(6)
    for (int j = 0; j < wide; j++) {
        VECTOR_S16 d[MOST_SIDE], made[MOST_SIDE];
        ML_UNROLL(6)
        for (int i = 0; i < high; i++) d[i] = lines[i][j];
        transform(d, made, tile_h);
        ML_UNROLL(6)
        for (int i = 0; i < high; i++) {
            int16_t *to = v + (i * wide + j) * p->v_position;
            if (part) STORE_PART_S16(to, made[i], part);
            else STORE_S16(to, made[i]);
        }
    }
}

/* The last vector of channels begins so early that it is whole, where there are as many. */
INLINE void transform_tiles(const ml_winograd_in_args *args, const int tile_h, const int tile_w) {
    const ml_winograd_in_args p = *args; /* a copy, not read again after each store */
    const int64_t c = p.channels;
    for (int64_t t = 0; t < p.tiles; t++) {
        const int8_t *x = p.x + t * tile_w * c;
        int16_t *v = p.v + t * c;
        if (c < LANES_S16) transform_patch(&p, x, v, c, tile_h, tile_w);
        for (int64_t i = 0; i < c && c >= LANES_S16; i += LANES_S16) {
            const int64_t at = i + LANES_S16 <= c ? i : c - LANES_S16;
            transform_patch(&p, x + at, v + at, 0, tile_h, tile_w);
        }
    }
}

void ML_VARIANT(winograd_in)(const ml_winograd_in_args *p) {
    if (p->tile_h == 1) transform_tiles(p, 1, 4);
    else if (p->tile_w == 1) transform_tiles(p, 4, 1);
    else if (p->tile_w == 2) transform_tiles(p, 2, 2);
    else transform_tiles(p, 4, 4);
}
