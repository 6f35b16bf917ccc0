/* matmul_s8_dot.h -- matmul_s8 in tiles of matmul_s8_tile.h.
 *
 * Beside what that wants, the file that includes it names its FUNCTION and says MULTIPLY(a, b); MASK, FIRST(count), LOAD_PART(there,
 * p), STORE(p, v), STORE_PART(p, there, v); MOST_SUMS of a tile, and which TILES there are. */
#include "matmul_s8_tile.h"

/* Adds what does not hang on products, and writes the outputs that exist. */
INLINE void store_tile(const ml_matmul_s8_args *p, const tile_place *at, const VECTOR *sums,
                       const int rows, const int vectors) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        const int64_t output = at->output + v * LANES, left = p->n - output;
        if (left <= 0) return;
        const MASK there = FIRST(left < LANES ? (int)left : LANES);
        const VECTOR bias = p->bias ? LOAD_PART(there, p->bias + output) : ZERO();
        const VECTOR columns = p->factors ? LOAD_PART(there, p->columns + output) : ZERO();
        int32_t *y = p->y + at->row * p->y_stride + output;
#pragma GCC unroll 14
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
    VECTOR sums[MOST_SUMS];
    sum_tile(p, at, rows, vectors, sums);
    store_tile(p, at, sums, rows, vectors);
}

#define DEFINE(rows, vectors)                                                                 \
    static void tile_##rows##x##vectors(const ml_matmul_s8_args *p, const tile_place *at) {   \
        tile(p, at, rows, vectors);                                                           \
    }
TILES(DEFINE)

typedef void tile_fn(const ml_matmul_s8_args *p, const tile_place *at);

#define ENTRY(rows, vectors) [rows][vectors] = tile_##rows##x##vectors,
static tile_fn *const tiles[MOST_ROWS + 1][MOST_VECTORS + 1] = {TILES(ENTRY)};

/* `rows` rows from `row` on meet all panels. */
static void meet(const ml_matmul_s8_args *p, int64_t row, int64_t rows, int64_t bytes) {
    for (int64_t panel = 0; panel < p->n; panel += ML_PANEL_S8) {
        const int64_t width = ml_width_s8(p->n, panel);
        tile_place at = {row, panel, p->packed + panel * bytes, GROUP * width};
        for (int64_t left = width / LANES, vectors; left > 0; left -= vectors) {
            vectors = left < MOST_VECTORS ? left : MOST_VECTORS;
            while (!tiles[rows][vectors]) vectors--;
            tiles[rows][vectors](p, &at);
            at.output += vectors * LANES;
            at.w += vectors * LANES * GROUP;
        }
    }
}

/* The rows are shared evenly among as few tiles as hold them. */
void FUNCTION(const ml_matmul_s8_args *p) {
    const int64_t bytes = p->pieces * ((p->k + GROUP - 1) / GROUP * GROUP); /* of an output */
    int64_t row = 0;
    for (int64_t parts = (p->rows + MOST_ROWS - 1) / MOST_ROWS; parts > 0; parts--) {
        const int64_t rows = (p->rows - row + parts - 1) / parts;
        meet(p, row, rows, bytes);
        row += rows;
    }
}
