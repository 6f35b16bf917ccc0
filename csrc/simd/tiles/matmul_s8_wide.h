/* matmul_s8_wide.h -- tiles of rows of bytes times packed weights by products of 16-bit pairs, for
 * vectors of any width: for matmul_s8 and product_s8.
 *
 * The file that includes it says what its vectors are: VECTOR; OUTPUTS, of which a vector has two
 * sums each; ROWS of a tile, ROW_COUNTS(X) from 1 to ROWS; ZERO(); WEIGHTS(p), OUTPUTS * 4 bytes
 * widened; FOUR(p), the four values at p for each output; WIDEN(from, flip, to), WIDEN_EIGHT and
 * WIDEN_FOUR, 16, 8 and 4 bytes, flipped, to int16; ADD_PAIRS(a, w, sum); JOIN(a, b), the sums of
 * two vectors, each pair added. Also NEAR, the inputs that are widened at a time; and for an `own`
 * of its own
 * BEGIN(own, at, v), what the sums of a tile's vector v begin with, and FINISH_TILE(own, at, rows,
 * joined, sums), what becomes of them: of each row `joined` vectors of JOIN. INLINE is defined.
 *
 * The rows of a tile are widened first, a stretch of k at a time, which all outputs then meet: two
 * vectors of outputs at a time, or MOST_ALONE for a row that is alone, which is as fast as weights
 * are read. */
#include <string.h>

#include "simd/simd.h"

enum {
    GROUP = 4,
    MOST_ALONE = 8, /* vectors of a tile of one row */
    AHEAD = 4096 /* bytes by which weights are fetched ahead of it */
};

/* The groups of some rows, from one group of a row on. */
typedef struct stretch {
    int16_t rows[ROWS][NEAR];
    int64_t first;
    int64_t groups;
} stretch;

/* Where a tile begins. */
typedef struct tile_place {
    const stretch *s;
    const int16_t *end; /* of the groups of the first row */
    const int8_t *w;
    int64_t step; /* bytes from group to group of a panel */
    int64_t row;
    int64_t output;
    int64_t outputs; /* the panel ends before this one */
} tile_place;

/* Rows, which go on from line to line. */
typedef struct row_cursor {
    const uint8_t *line;
    const uint8_t *row;
    int64_t of_line;
} row_cursor;

/* The groups of `count` bytes of a piece; what is left of whole vectors is widened together with
 * what is before it. If they are no multiple of GROUP, the last group is the last four bytes, zeros
 * in the weights standing for those that were met before. */
INLINE int16_t *widen_piece(const uint8_t *from, int64_t count, int32_t flip, int16_t *to) {
    const int64_t whole = count & -GROUP;
    if (whole >= 16) {
        int64_t j = 0;
        for (; j + 16 <= whole; j += 16) WIDEN(from + j, flip, to + j);
        if (j < whole) WIDEN(from + whole - 16, flip, to + whole - 16);
    } else if (whole >= 8) {
        WIDEN_EIGHT(from, flip, to);
        if (whole > 8) WIDEN_EIGHT(from + 4, flip, to + 4);
    } else if (whole) {
        WIDEN_FOUR(from, flip, to);
    }
    if (whole == count) return to + whole;
    if (count >= GROUP) WIDEN_FOUR(from + count - GROUP, flip, to + whole);
    else
        for (int i = 0; i < GROUP; i++) to[whole + i] = i < count ? (int16_t)(from[i] ^ flip) : 0;
    return to + whole + GROUP;
}

/* The groups of a row that lie in the stretch, which has not all of them. */
static void widen_part(const ml_matmul_s8_args *p, const uint8_t *a, const stretch *s,
                       int16_t *to) {
    const int64_t of_piece = (p->k + GROUP - 1) / GROUP;
    int64_t piece = s->first / of_piece, group = s->first % of_piece;
    for (int64_t left = s->groups, count; left > 0; left -= count, piece++, group = 0) {
        const uint8_t *from = a + piece * p->piece_stride + group * GROUP;
        const int64_t bytes = p->k - group * GROUP;
        count = of_piece - group < left ? of_piece - group : left;
        if (group + count < of_piece) {
            to = widen_piece(from, count * GROUP, p->flip, to);
        } else if (bytes >= GROUP || group == 0) {
            to = widen_piece(from, bytes, p->flip, to);
        } else { /* the last group alone */
            WIDEN_FOUR(from + bytes - GROUP, p->flip, to);
            to += GROUP;
        }
    }
}

static void widen_rows(const ml_matmul_s8_args *p, row_cursor *at, int64_t line_stride,
                       int64_t rows, bool all, stretch *s) {
    const int64_t pieces = p->pieces, piece_stride = p->piece_stride, k = p->k;
    for (int64_t r = 0; r < rows; r++, at->row += p->a_stride, at->of_line++) {
        int16_t *to = s->rows[r];
        if (at->of_line == p->rows) {
            at->of_line = 0;
            at->row = at->line += line_stride;
        }
        const uint8_t *a = at->row;
        if (!all) widen_part(p, a, s, to);
        else
            for (int64_t piece = 0; piece < pieces; piece++, a += piece_stride)
                to = widen_piece(a, k, p->flip, to);
    }
}

/* sums += one group of each row. */
INLINE void add_group(const int16_t *x, const int8_t *w, const int rows, const int vectors,
                      VECTOR *sums) {
    VECTOR weights[MOST_ALONE];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) weights[v] = WEIGHTS(w + v * OUTPUTS * GROUP);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        const VECTOR values = FOUR(x + r * NEAR);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) {
            VECTOR *sum = &sums[r * vectors + v];
            *sum = ADD_PAIRS(values, weights[v], *sum);
            __asm__("" : "+x"(*sum)); /* stays in its register */
        }
    }
}

/* Groups go in pairs, after the first one where their number is odd. */
INLINE void tile(const void *own, const tile_place *at, const int rows, const int vectors) {
    VECTOR sums[ROWS * 2 > MOST_ALONE ? ROWS * 2 : MOST_ALONE], joined[ROWS];
#pragma GCC unroll 12
    for (int i = 0; i < rows * vectors; i++) sums[i] = BEGIN(own, at, i % vectors);
    const int16_t *x = at->s->rows[0], *const end = at->end;
    const int8_t *w = at->w;
    const int64_t step = at->step;
    if ((end - x) & GROUP) {
        add_group(x, w, rows, vectors, sums);
        x += GROUP, w += step;
    }
    for (; x != end; x += 2 * GROUP, w += 2 * step) {
        if (vectors == MOST_ALONE) {
            __builtin_prefetch(w + AHEAD);
            __builtin_prefetch(w + step + AHEAD);
        }
        add_group(x, w, rows, vectors, sums);
        add_group(x + GROUP, w + step, rows, vectors, sums);
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows * vectors / 2; i++) joined[i] = JOIN(sums[2 * i], sums[2 * i + 1]);
    FINISH_TILE(own, at, rows, vectors / 2, joined);
}

/* The outputs of a panel. Its packed weights are a multiple of ML_PART_S8 outputs, and so at least
 * as many as a tile takes. */
INLINE void meet_panel(const void *own, const tile_place *panel, const int rows) {
    tile_place at = *panel;
    for (int vectors = 2; at.output < at.outputs; at.output += vectors * OUTPUTS) {
        if (rows > 1) tile(own, &at, rows, 2);
        else if (at.outputs - at.output > MOST_ALONE / 2 * OUTPUTS)
            tile(own, &at, 1, vectors = MOST_ALONE);
        else tile(own, &at, 1, vectors = MOST_ALONE / 2);
        at.w += vectors * OUTPUTS * GROUP;
    }
}

typedef void panel_fn(const void *own, const tile_place *panel);
#define DEFINE(rows)                                                       \
    static void meet_##rows(const void *own, const tile_place *panel) {    \
        meet_panel(own, panel, rows);                                      \
    }
ROW_COUNTS(DEFINE)
#define ENTRY(rows) meet_##rows,
static panel_fn *const meet_rows[] = {NULL, ROW_COUNTS(ENTRY)};

/* All outputs of the rows of some lines, which are shared evenly among as few tiles as hold
 * them. */
INLINE void multiply(const ml_matmul_s8_args *p, const void *own, int64_t lines,
                     int64_t line_stride) {
    const int64_t groups = p->pieces * ((p->k + GROUP - 1) / GROUP), all = lines * p->rows;
    stretch s;
    tile_place at = {.s = &s};
    row_cursor next = {p->a, p->a, 0};
    int64_t parts = (all + ROWS - 1) / ROWS;
    for (int64_t rows; at.row < all; at.row += rows, parts--) {
        const row_cursor begin = next;
        rows = parts > 1 ? (all - at.row + parts - 1) / parts : all - at.row;
        s.first = 0;
        do {
            s.groups = groups - s.first < NEAR / GROUP ? groups - s.first : NEAR / GROUP;
            next = begin;
            widen_rows(p, &next, line_stride, rows, s.groups == groups, &s);
            at.end = s.rows[0] + s.groups * GROUP;
            for (int64_t panel = 0; panel < p->n; panel += ML_PANEL_S8) {
                at.step = GROUP * ml_width_s8(p->n, panel);
                at.w = p->packed + panel * groups * GROUP + s.first * at.step;
                at.output = panel;
                at.outputs = p->n - panel < ML_PANEL_S8 ? p->n : panel + ML_PANEL_S8;
                meet_rows[rows](own, &at);
            }
            s.first += s.groups;
        } while (s.first < groups);
    }
}
