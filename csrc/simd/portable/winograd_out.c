/* winograd_out.c -- winograd_out in the words of a level: A^T m A of products m, output by output.
 *
 * The scales of G leave 4 times a sum for size 2, and 576 times for size 4: 64 times 9, which is
 * taken back by its inverse modulo 2^32. What then is left is a power of 2 times a sum that fits,
 * so a shift that keeps the sign gives it exactly. */
#include "simd/words.h"

#define INLINE __attribute__((always_inline)) static inline

enum { MOST_SIDE = 6, INVERSE_OF_9 = 0x38E38E39 };

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
    if (size == 2) sum_2(m, to);
    else sum_4(m, to);
}

INLINE VECTOR_S32 unscaled(VECTOR_S32 v, const int size) {
    if (size == 2) return SHIFT_RIGHT_S32(v, 2);
    return SHIFT_RIGHT_S32(MUL_S32(v, SPLAT_S32(INVERSE_OF_9)), 6);
}

INLINE void sum_tile(const ml_winograd_out_args *p, const int32_t *m, const int32_t *start,
                     int32_t *y, const int size) {
    VECTOR_S32 columns[MOST_SIDE][MOST_SIDE];
    ML_UNROLL(6)
    for (int j = 0; j < size + 2; j++) {
        VECTOR_S32 from[MOST_SIDE], to[MOST_SIDE];
        ML_UNROLL(6)
        for (int i = 0; i < size + 2; i++)
            from[i] = LOAD_S32(m + (i * (size + 2) + j) * p->m_position);
        sum(from, to, size);
        ML_UNROLL(4)
        for (int i = 0; i < size; i++) columns[i][j] = to[i];
    }
    const VECTOR_S32 first = LOAD_S32(start);
    ML_UNROLL(4)
    for (int i = 0; i < size; i++) {
        VECTOR_S32 to[MOST_SIDE];
        sum(columns[i], to, size);
        ML_UNROLL(4)
        for (int j = 0; j < size; j++)
            STORE_S32(y + i * p->y_line + j * p->n, ADD_S32(unscaled(to[j], size), first));
    }
}

INLINE void sum_tiles(const ml_winograd_out_args *args, const int size) {
    const ml_winograd_out_args p = *args; /* a copy, not read again after each store */
    for (int64_t t = 0; t < p.tiles; t++)
        for (int64_t o = 0; o < p.n; o += LANES)
            sum_tile(&p, p.m + t * p.n + o, p.start + o, p.y + t * size * p.n + o, size);
}

void ML_VARIANT(winograd_out)(const ml_winograd_out_args *p) {
    if (p->size == 2) sum_tiles(p, 2);
    else sum_tiles(p, 4);
}
