/* matmul_s8_meet.h -- matmul_s8 tile by tile: multiplies rows by panels.
 *
 * The file that includes it defines tile(p, at, rows, vectors), which computes the tile at a
 * tile_place; LANES of a vector and GROUP; MOST_ROWS and MOST_VECTORS of a tile; TILES, the list of
 * tiles (for every number of rows, one whose outputs divide ML_PART_S8); and BEGIN_ROWS(p, at,
 * rows), which runs before rows are multiplied by the first panel. It may define ROWS_OF(p), the
 * most rows of a tile for these arguments, if that is not always MOST_ROWS. */
#include "simd/simd.h"

#ifndef ROWS_OF
#define ROWS_OF(p) MOST_ROWS
#endif

#define DEFINE(rows, vectors)                                                                 \
    static void tile_##rows##x##vectors(const ml_matmul_s8_args *p, const tile_place *at) {   \
        tile(p, at, rows, vectors);                                                           \
    }
TILES(DEFINE)

typedef void tile_fn(const ml_matmul_s8_args *p, const tile_place *at);

#define ENTRY(rows, vectors) [rows][vectors] = tile_##rows##x##vectors,
static tile_fn *const tiles[MOST_ROWS + 1][MOST_VECTORS + 1] = {TILES(ENTRY)};

/* Multiplies `rows` rows from `row` on by all panels, each in the widest tiles that fit it. */
static void meet(const ml_matmul_s8_args *p, int64_t row, int64_t rows, int64_t bytes) {
    tile_place at = {.row = row};
    BEGIN_ROWS(p, &at, rows)
    for (int64_t panel = 0; panel < p->n; panel += ML_PANEL_S8) {
        const int64_t width = ml_width_s8(p->n, panel);
        at.output = panel;
        at.w = p->packed + panel * bytes;
        at.step = GROUP * width;
        for (int64_t left = width / LANES, vectors; left > 0; left -= vectors) {
            vectors = left < MOST_VECTORS ? left : MOST_VECTORS;
            while (!tiles[rows][vectors]) vectors--;
            tiles[rows][vectors](p, &at);
            at.output += vectors * LANES;
            at.w += vectors * LANES * GROUP;
        }
    }
}

/* Divides the rows evenly among as few tiles as possible. */
INLINE void multiply(const ml_matmul_s8_args *p) {
    const int64_t bytes = p->pieces * ml_round_up(p->k, GROUP); /* bytes of an output */
    const int64_t most = ROWS_OF(p);
    for (int64_t row = 0, rows; row < p->rows; row += rows) {
        rows = ml_even_part(p->rows - row, most);
        meet(p, row, rows, bytes);
    }
}
