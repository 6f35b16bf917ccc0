/* matmul_s8_meet.h -- rows of matmul_s8 meet panels in tiles.
 *
 * The file that includes it has tile(p, at, rows, vectors), where a tile_place says where one
 * begins, LANES of a vector and GROUP; it says the MOST_ROWS and MOST_VECTORS of a tile, which
 * TILES there are (of every number of rows one that divides a panel's part), and what BEGIN_ROWS(p,
 * at, rows) does before rows meet the first panel. */
#include "simd/simd.h"

#define DEFINE(rows, vectors)                                                                 \
    static void tile_##rows##x##vectors(const ml_matmul_s8_args *p, const tile_place *at) {   \
        tile(p, at, rows, vectors);                                                           \
    }
TILES(DEFINE)

typedef void tile_fn(const ml_matmul_s8_args *p, const tile_place *at);

#define ENTRY(rows, vectors) [rows][vectors] = tile_##rows##x##vectors,
static tile_fn *const tiles[MOST_ROWS + 1][MOST_VECTORS + 1] = {TILES(ENTRY)};

/* `rows` rows from `row` on meet all panels, each in the widest tiles that it holds. */
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

/* The rows are shared evenly among as few tiles as hold them. */
INLINE void multiply(const ml_matmul_s8_args *p) {
    const int64_t bytes = p->pieces * ((p->k + GROUP - 1) / GROUP * GROUP); /* of an output */
    for (int64_t row = 0, rows; row < p->rows; row += rows) {
        rows = p->rows - row;
        const int64_t parts = (rows + MOST_ROWS - 1) / MOST_ROWS;
        if (parts > 1) rows = (rows + parts - 1) / parts;
        meet(p, row, rows, bytes);
    }
}
