/* product_tiles.h -- rows of bytes times packed weights in register tiles: for
 * matmul_s8 and product_s8 of neon and the levels above it.
 *
 * Bytes of rows are taken as signed ones, 128 less, so that sums lack 128 times
 * the sum of their output's weights; what a sum begins with has that. Beside
 * SUMS, those of LANES outputs; SUMS_OF( start) and TOTAL(sums, start), where
 * either takes what sums begin with; MOST_ROWS of a tile, ALONE_VECTORS of a
 * row that is alone, and SOME_ROWS(X), X(2) and so on; and add_piece(a, k,
 * w, step, rows, vectors, flips, sums), which adds the products of a piece of
 * each row and returns the weights after them, the file that includes it says
 * for an `own` of its own BEGIN(own, output, v), what the sums of a tile's
 * vector v begin with, FINISH_TILE(own, row, output, rows, vectors, sums), what
 * becomes of them, and ONE_ROW(X), X(1) if there are products of one row.
 *
 * Rows go outside and outputs inside: weights of a call find room in the cache.
 */
#include <string.h>

#include "simd/simd.h"

enum { TILE_VECTORS = ML_PART_S8 / LANES, MOST_SUMS = 24 };

/* Where rows lie: any number of bytes apart, so that a tile goes on to the next
 * line. */
typedef struct row_places {
    const uint8_t *of[MOST_ROWS];
    int64_t first;
} row_places;

INLINE void tile(const ml_matmul_s8_args *p, const void *own, const row_places *places,
                 const int8_t *w, int64_t step, int64_t output, const int rows, const int vectors,
                 const bool flips) {
    const int64_t k = p->k, piece_stride = p->piece_stride;
    const uint8_t *a[MOST_ROWS];
    SUMS sums[MOST_SUMS];
    int32x4_t totals[MOST_SUMS], start[ALONE_VECTORS];
    ML_UNROLL(16)
    for (int v = 0; v < vectors; v++) start[v] = BEGIN(own, output, v);
    ML_UNROLL(24)
    for (int i = 0; i < rows * vectors; i++) sums[i] = SUMS_OF(start[i % vectors]);
    ML_UNROLL(8)
    for (int r = 0; r < rows; r++) a[r] = places->of[r];
    for (int64_t piece = p->pieces; piece > 0; piece--) {
        w = add_piece(a, k, w, step, rows, vectors, flips, sums);
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++) a[r] += piece_stride;
    }
    ML_UNROLL(24)
    for (int i = 0; i < rows * vectors; i++) totals[i] = TOTAL(sums[i], start[i % vectors]);
    FINISH_TILE(own, places->first, output, rows, vectors, totals);
}

/* All outputs of some rows. A panel's packed weights are whole tiles; a row
 * that is alone takes whole panels. */
INLINE void meet_panels(const ml_matmul_s8_args *args, const void *own, const row_places *places,
                        const int rows, const bool flips) {
    const ml_matmul_s8_args p = *args; /* a copy, which stores do not change */
    const int64_t bytes = p.pieces * ((p.k + GROUP - 1) & -GROUP); /* of an output */
    for (int64_t panel = 0; panel < p.n; panel += ML_PANEL_S8) {
        const int64_t width = ml_width_s8(p.n, panel), step = GROUP * width;
        const int8_t *w = p.packed + panel * bytes;
        if (rows == 1 && width == ML_PANEL_S8) {
            for (int64_t i = 0; i < width; i += ALONE_VECTORS * LANES)
                tile(&p, own, places, w + i * GROUP, GROUP * ML_PANEL_S8, panel + i, 1,
                     ALONE_VECTORS, flips);
            continue;
        }
        for (int64_t i = 0; i < width; i += ML_PART_S8, w += ML_PART_S8 * GROUP)
            tile(&p, own, places, w, step, panel + i, rows, TILE_VECTORS, flips);
    }
}

typedef void meet_fn(const ml_matmul_s8_args *p, const void *own, const row_places *places);
#define DEFINE(rows)                                                           \
  static void signed_##rows(const ml_matmul_s8_args *p, const void *own,       \
                            const row_places *places) {                        \
    meet_panels(p, own, places, rows, false);                                  \
  }                                                                            \
  static void flipped_##rows(const ml_matmul_s8_args *p, const void *own,      \
                             const row_places *places) {                       \
    meet_panels(p, own, places, rows, true);                                   \
  }
ONE_ROW(DEFINE)
SOME_ROWS(DEFINE)
#define SIGNED(rows) [rows] = signed_##rows,
#define FLIPPED(rows) [rows] = flipped_##rows,
static meet_fn *const meet_rows[2][MOST_ROWS + 1] = {{ONE_ROW(SIGNED) SOME_ROWS(SIGNED)},
                                                     {ONE_ROW(FLIPPED) SOME_ROWS(FLIPPED)}};

/* All outputs of the rows of some lines, which are shared evenly among as few
 * tiles as hold them. */
static void multiply(const ml_matmul_s8_args *p, const void *own, int64_t lines,
                     int64_t line_stride) {
    const int64_t all = lines * p->rows;
    meet_fn *const *meet = meet_rows[p->flip != 128];
    const uint8_t *line = p->a, *next = p->a;
    int64_t parts = (all + MOST_ROWS - 1) / MOST_ROWS, left = p->rows;
    row_places places = {.first = 0};
    for (int64_t rows; places.first < all; places.first += rows, parts--) {
        rows = parts > 1 ? (all - places.first + parts - 1) / parts : all - places.first;
        for (int64_t r = 0; r < rows; r++, next += p->a_stride) {
            if (left == 0) next = line += line_stride, left = p->rows;
            places.of[r] = next;
            left--;
        }
        meet[rows](p, own, &places);
    }
}
