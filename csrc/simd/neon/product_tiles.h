/* product_tiles.h -- multiplies rows of bytes with packed weights in register tiles: for matmul_s8
 * and product_s8 of neon and the levels above it. The outer loop is over rows, the inner one over
 * outputs, because the weights of a call fit into the cache.
 *
 * The level defines
 *   GROUP                   bytes of an output that lie together
 *   SHARE, SUMS             rows whose sums share a vector, and the sums of LANES outputs of them
 *   SUMS_OF(start)          the sums that begin with `start`, the same for each row
 *   TOTAL(sums, row)        one row's sums
 *   MOST_ROWS, ALONE_VECTORS, SOME_ROWS(X)
 *                           the rows of a tile at most, the vectors of a single row, and X(2) ...
 *   IS_LESS(args)           true if bytes of rows are taken as signed ones, 128 less: the start of
 *                           each sum then has 128 times the sum of its output's weights
 *   add_piece(args, a, w, step, at, rows, vectors, flips, sums)
 *                           adds the products of a piece of each row, with weights that lie after
 *                           those of `at` outputs, and returns the weights that follow
 *   FLIPS_APART             true if the compiler has to know `flips`
 *
 * and the file that includes this one, for an `own` of its own,
 *   BEGIN(own, output, v)   the starts of the sums of a tile's vector v
 *   FINISH_TILE(own, row, output, rows, vectors, sums)
 *                           writes the outputs of these sums
 *   ONE_ROW(X)              X(1) if there are products of one row */
#include <string.h>

#include "simd/simd.h"

enum { TILE_VECTORS = ML_PART_S8 / LANES, MOST_SUMS = 24 };

/* The addresses of a tile's rows, any number of bytes apart, so that a tile can continue in the
 * next line. */
typedef struct row_places {
    const uint8_t *of[MOST_ROWS];
    int64_t first;
} row_places;

/* The rows that no tile has computed yet. */
typedef struct rows_left {
    const uint8_t *line, *next;
    int64_t line_stride;
    int64_t of_line;
    int64_t first;
} rows_left;

INLINE void place_rows(const ml_matmul_s8_args *p, rows_left *at, const int rows, row_places *to) {
    to->first = at->first;
    at->first += rows;
    if (__builtin_expect(at->of_line >= rows, 1)) {
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++, at->next += p->a_stride) to->of[r] = at->next;
        at->of_line -= rows;
        return;
    }
    for (int r = 0; r < rows; r++, at->next += p->a_stride) {
        if (at->of_line == 0) at->next = at->line += at->line_stride, at->of_line = p->rows;
        to->of[r] = at->next;
        at->of_line--;
    }
}

INLINE void tile(const ml_matmul_s8_args *p, const void *own, const row_places *places,
                 const int8_t *w, int64_t step, int64_t panel, int64_t at, const int rows,
                 const int vectors, const bool flips) {
    const int shared = (int)ml_ceil_div(rows, SHARE);
    const int64_t output = panel + at;
    const int64_t piece_stride = p->piece_stride;
    const uint8_t *a[MOST_ROWS];
    SUMS sums[MOST_SUMS];
    int32x4_t totals[MOST_SUMS], start[ALONE_VECTORS];
    ML_UNROLL(16)
    for (int v = 0; v < vectors; v++) start[v] = BEGIN(own, output, v);
    ML_UNROLL(24)
    for (int i = 0; i < shared * vectors; i++) sums[i] = SUMS_OF(start[i % vectors]);
    ML_UNROLL(8)
    for (int r = 0; r < rows; r++) a[r] = places->of[r];
    for (int64_t piece = p->pieces; piece > 0; piece--) {
        w = add_piece(p, a, w, step, at, rows, vectors, flips, sums);
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++) a[r] += piece_stride;
    }
    ML_UNROLL(24)
    for (int i = 0; i < rows * vectors; i++) {
        const int row = i / vectors, v = i % vectors;
        totals[i] = TOTAL(sums[row / SHARE * vectors + v], row % SHARE);
    }
    FINISH_TILE(own, places->first, output, rows, vectors, totals);
}

/* Computes all outputs of the rows of some tiles. The packed weights of a panel are a multiple of
 * tiles; a single row takes whole panels. */
INLINE void meet_panels(const ml_matmul_s8_args *args, const void *own, rows_left *left,
                        int64_t tiles, const int rows, const bool flips) {
    const ml_matmul_s8_args p = *args; /* copies, not read again after each store */
    rows_left at = *left;
    const int64_t bytes = p.pieces * ml_round_up(p.k, 4); /* bytes of an output */
    for (; tiles > 0; tiles--) {
        row_places places;
        place_rows(&p, &at, rows, &places);
        for (int64_t panel = 0; panel < p.n; panel += ML_PANEL_S8) {
            const int64_t width = ml_width_s8(p.n, panel), step = GROUP * width;
            const int64_t alone = ALONE_VECTORS * LANES;
            const int8_t *w = p.packed + panel * bytes;
            if (rows == 1 && width == ML_PANEL_S8) {
                for (int64_t i = 0; i < width; i += alone, w += alone * GROUP)
                    tile(&p, own, &places, w, GROUP * ML_PANEL_S8, panel, i, 1, ALONE_VECTORS,
                         flips);
                continue;
            }
            for (int64_t i = 0; i < width; i += ML_PART_S8, w += ML_PART_S8 * GROUP)
                tile(&p, own, &places, w, step, panel, i, rows, TILE_VECTORS, flips);
        }
    }
    *left = at;
}

typedef void meet_fn(const ml_matmul_s8_args *p, const void *own, rows_left *left, int64_t tiles);
#define SIGNED(rows)                                                           \
  static void signed_##rows(const ml_matmul_s8_args *p, const void *own,       \
                            rows_left *left, int64_t tiles) {                  \
    meet_panels(p, own, left, tiles, rows, false);                             \
  }
#define FLIPPED(rows)                                                          \
  static void flipped_##rows(const ml_matmul_s8_args *p, const void *own,      \
                             rows_left *left, int64_t tiles) {                 \
    meet_panels(p, own, left, tiles, rows, true);                              \
  }
ONE_ROW(SIGNED)
SOME_ROWS(SIGNED)
#define MEET_SIGNED(rows) [rows] = signed_##rows,
static meet_fn *const meet_signed[MOST_ROWS + 1] = {ONE_ROW(MEET_SIGNED) SOME_ROWS(MEET_SIGNED)};
#if FLIPS_APART
ONE_ROW(FLIPPED)
SOME_ROWS(FLIPPED)
#define MEET_FLIPPED(rows) [rows] = flipped_##rows,
static meet_fn *const meet_flipped[MOST_ROWS + 1] = {ONE_ROW(MEET_FLIPPED) SOME_ROWS(MEET_FLIPPED)};
#else
#define meet_flipped meet_signed
#endif

/* Computes all outputs of the rows of some lines. The rows are divided evenly among as few tiles as
 * possible, larger tiles first. If sums of SHARE rows lie together and the last row has no other,
 * the last tile begins a row earlier. */
static void multiply(const ml_matmul_s8_args *p, const void *own, int64_t lines,
                     int64_t line_stride) {
    const int64_t all = lines * p->rows, shared = ml_ceil_div(all, SHARE);
    const bool lacks_one = shared * SHARE != all;
    int64_t tiles = ml_ceil_div(shared, MOST_ROWS / SHARE);
    if (tiles == 0) return;
    if (lacks_one && tiles == 1) tiles = shared;
    meet_fn *const *meet = p->flip == 128 ? meet_signed : meet_flipped;
    const int64_t few = shared / tiles, larger = shared % tiles;
    rows_left left = {p->a, p->a, line_stride, p->rows, 0};
    if (larger) meet[(few + 1) * SHARE](p, own, &left, larger);
    if (!lacks_one) {
        meet[few * SHARE](p, own, &left, tiles - larger);
    } else if (all == 1) {
        meet[1](p, own, &left, 1);
    } else {
        meet[few * SHARE](p, own, &left, tiles - larger - 1);
        left.next -= p->a_stride, left.of_line++, left.first--;
        meet[few * SHARE](p, own, &left, 1);
    }
}
