/* matmul_s8_dot.h -- matmul_s8 in tiles of matmul_s8_tile.h.
 *
 * In addition to what that header needs, the file that includes this one defines MULTIPLY(a, b);
 * MASK, FIRST(count), LOAD_PART(there, p), STORE(p, v), STORE_PART(p, there, v); MOST_SUMS, the
 * most sums of a tile; and TILES, the list of tiles. */
#include "simd/tiles/matmul_s8_tile.h"

/* Adds what does not depend on products, and writes the outputs that exist. */
INLINE void store_tile(const ml_matmul_s8_args *p, const tile_place *at, const VECTOR *sums,
                       const int rows, const int vectors) {
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) {
        const int64_t output = at->output + v * LANES, left = p->n - output;
        if (left <= 0) return;
        const MASK there = FIRST(left < LANES ? (int)left : LANES);
        const VECTOR bias = p->bias ? LOAD_PART(there, p->bias + output) : ZERO();
        const VECTOR columns = p->factors ? LOAD_PART(there, p->columns + output) : ZERO();
        int32_t *y = p->y + at->row * p->y_stride + output;
        ML_UNROLL(14)
        for (int r = 0; r < rows; r++, y += p->y_stride) {
            VECTOR sum = ADD(sums[r * vectors + v], bias);
            if (p->factors) {
                const VECTOR factor = SET(p->factors[at->row + r]);
                sum = ADD(sum, MULTIPLY(factor, columns));
            }
            if (left >= LANES) STORE(y, sum);
            else STORE_PART(y, there, sum);
        }
    }
}

INLINE void tile(const ml_matmul_s8_args *p, const tile_place *at, const int rows,
                 const int vectors) {
    VECTOR sums[MOST_SUMS], start[MOST_VECTORS];
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) start[v] = ZERO();
    sum_tile(p, at, rows, vectors, start, sums);
    store_tile(p, at, sums, rows, vectors);
}

#define ROWS_OF(p) most_rows(p)
#define BEGIN_ROWS(p, at, rows) \
    row_copy copy;              \
    begin_rows(p, at, rows, &copy);
#include "simd/tiles/matmul_s8_meet.h"
