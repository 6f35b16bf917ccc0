/* winograd_out.c -- winograd_out in the words of a level: A^T m A of products m, output by output.
 *
 * The scales of G leave 4 times a sum for tiles of 2 x 2, 576 times for 4 x 4, and 24 times for 1 x
 * 4 and 4 x 1: 64 times 9, and 8 times 3. The odd factor is taken back by its inverse modulo 2^32.
 * What then is left is a power of 2 times a sum that fits, so a shift that keeps the sign gives it
 * exactly. */
#include "simd/words.h"

#define INLINE __attribute__((always_inline)) static inline

enum { MOST_SIDE = 6, INVERSE_OF_9 = 0x38E38E39, INVERSE_OF_3 = -0x55555555 };

INLINE void sum_2(const VECTOR_S32 *m, VECTOR_S32 *to) {
    to[0] = ADD_S32(m[0], ADD_S32(m[1], m[2]));
    to[1] = ADD_S32(SUB_S32(m[1], m[2]), m[3]);
}

INLINE void sum_4(const VECTOR_S32 *m, VECTOR_S32 *to) {
    const VECTOR_S32 even = ADD_S32(m[1], m[2]), odd = SUB_S32(m[1], m[2]);
    const VECTOR_S32 far_even = ADD_S32(m[3], m[4]), far_odd = SUB_S32(m[3], m[4]);
    const VECTOR_S32 even_2 = ADD_S32(even, even), odd_2 = ADD_S32(odd, odd);
    to[0] = ADD_S32(ADD_S32(m[0], even_2), far_even);
    to[1] = ADD_S32(odd_2, ADD_S32(far_odd, far_odd));
    to[2] = ADD_S32(even_2, SHIFT_LEFT_S32(far_even, 2));
    to[3] = ADD_S32(odd_2, SHIFT_LEFT_S32(ADD_S32(ADD_S32(far_odd, far_odd), m[5]), 2));
}

INLINE void sum(const VECTOR_S32 *m, VECTOR_S32 *to, const int size) {
    if (size == 1) to[0] = m[0];
    else if (size == 2) sum_2(m, to);
    else sum_4(m, to);
}

/* Products of a tile along a side on which it has `size` outputs. */
INLINE int products_side(const int size) { return size == 1 ? 1 : size + 2; }

INLINE VECTOR_S32 unscaled(VECTOR_S32 v, const int tile_h, const int tile_w) {
    if (tile_h == 2) return SHIFT_RIGHT_S32(v, 2);
    if (tile_h == 1 || tile_w == 1) return SHIFT_RIGHT_S32(MUL_S32(v, SPLAT_S32(INVERSE_OF_3)), 3);
    return SHIFT_RIGHT_S32(MUL_S32(v, SPLAT_S32(INVERSE_OF_9)), 6);
}

INLINE void sum_tile(const ml_winograd_out_args *p, const int32_t *m, const int32_t *start,
                     int32_t *y, const int tile_h, const int tile_w) {
    const int high = products_side(tile_h), wide = products_side(tile_w);
    VECTOR_S32 columns[MOST_SIDE][MOST_SIDE];
    ML_UNROLL(6)
    for (int j = 0; j < wide; j++) {
        VECTOR_S32 from[MOST_SIDE], to[MOST_SIDE];
        ML_UNROLL(6)
        for (int i = 0; i < high; i++) from[i] = LOAD_S32(m + (i * wide + j) * p->m_position);
        sum(from, to, tile_h);
        ML_UNROLL(4)
        for (int i = 0; i < tile_h; i++) columns[i][j] = to[i];
    }
    const VECTOR_S32 first = LOAD_S32(start);
    ML_UNROLL(4)
    for (int i = 0; i < tile_h; i++) {
        VECTOR_S32 to[MOST_SIDE];
        sum(columns[i], to, tile_w);
        ML_UNROLL(4)
        for (int j = 0; j < tile_w; j++)
            STORE_S32(y + i * p->y_line + j * p->n,
                      ADD_S32(unscaled(to[j], tile_h, tile_w), first));
    }
}

INLINE void sum_tiles(const ml_winograd_out_args *args, const int tile_h, const int tile_w) {
    const ml_winograd_out_args p = *args; /* a copy, not read again after each store */
    for (int64_t t = 0; t < p.tiles; t++)
        for (int64_t o = 0; o < p.n; o += LANES)
            sum_tile(&p, p.m + t * p.n + o, p.start + o, p.y + t * tile_w * p.n + o, tile_h,
                     tile_w);
}

void ML_VARIANT(winograd_out)(const ml_winograd_out_args *p) {
    if (p->tile_h == 1) sum_tiles(p, 1, 4);
    else if (p->tile_w == 1) sum_tiles(p, 4, 1);
    else if (p->tile_w == 2) sum_tiles(p, 2, 2);
    else sum_tiles(p, 4, 4);
}
