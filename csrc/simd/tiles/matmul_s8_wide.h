/* matmul_s8_wide.h -- multiplies rows of bytes by packed weights in tiles, by products of 16-bit
 * pairs, for vectors of any width; for matmul_s8 and product_s8.
 *
 * The rows of a tile are widened first, a stretch of k at a time, and then multiplied for all
 * outputs: two vectors of outputs at a time, or MOST_ALONE for a single row, for which reading the
 * weights takes the time.
 *
 * The file that includes it defines INLINE, OUTPUTS of a vector, each with two sums, and
 *   ROWS, ROW_COUNTS(X)         the most rows of a tile, and X(1) to X(ROWS)
 *   NEAR                        the inputs that are widened at a time
 *   WEIGHTS(p)                  OUTPUTS * 4 bytes widened to int16
 *   FOUR(p)                     the four values at p for each output
 *   WIDEN_SIXTEEN(from, flip, to)  WIDEN_EIGHT  WIDEN_FOUR
 *                               flip 16, 8 and 4 bytes and widen them to int16
 *   JOIN_PAIRS(a, b)            the sums of two vectors, each pair added
 *
 * and, with an argument `own` that multiply() passes on,
 *   BEGIN(own, at, v)           the starts of the sums of a tile's vector v
 *   FINISH_TILE(own, at, rows, joined, sums)
 *                               writes outputs of `joined` vectors of JOIN_PAIRS per row */
#include <string.h>

#include "simd/words.h"

enum {
    GROUP = 4,
    MOST_ALONE = 8, /* vectors of a tile of one row */
    AHEAD = 4096 /* bytes by which the weights of a single row are prefetched */
};

/* Widened groups of some rows, from group `first` of each row on. */
typedef struct stretch {
    int16_t rows[ROWS][NEAR];
    int64_t first;
    int64_t groups;
    bool last; /* true if it has the last groups of its rows */
    int64_t panel_bytes; /* bytes of a whole panel's weights */
} stretch;

/* The beginning of a tile. */
typedef struct tile_place {
    const stretch *s;
    const int16_t *end; /* end of the groups of the first row */
    const int8_t *w;
    int64_t step; /* bytes from group to group of a panel */
    int64_t row;
    int64_t output;
    int64_t outputs; /* the first output after the panel */
} tile_place;

/* A position among the rows, which continue from line to line. */
typedef struct row_cursor {
    const uint8_t *line;
    const uint8_t *row;
    int64_t of_line;
} row_cursor;

/* Widens the last group of a piece whose `count` bytes are not a multiple of GROUP: its last four
 * bytes. The weights of those that the group before has too are zeros. */
INLINE int16_t *widen_rest(const uint8_t *from, int64_t count, int32_t flip, int16_t *to) {
    if (count >= GROUP) WIDEN_FOUR(from + count - GROUP, flip, to);
    else
        for (int i = 0; i < GROUP; i++) to[i] = i < count ? (int16_t)(from[i] ^ flip) : 0;
    return to + GROUP;
}

/* Widen the groups of `count` bytes of a piece: fewer than 8, fewer than 16, or more. Groups left
 * over after whole vectors are widened together with those before them. */
INLINE int16_t *widen_few(const uint8_t *from, int64_t count, int32_t flip, int16_t *to) {
    const int64_t whole = count & -GROUP;
    if (whole) WIDEN_FOUR(from, flip, to);
    return whole == count ? to + whole : widen_rest(from, count, flip, to + whole);
}
INLINE int16_t *widen_some(const uint8_t *from, int64_t count, int32_t flip, int16_t *to) {
    const int64_t whole = count & -GROUP;
    WIDEN_EIGHT(from, flip, to);
    if (whole > 8) WIDEN_EIGHT(from + 4, flip, to + 4);
    return whole == count ? to + whole : widen_rest(from, count, flip, to + whole);
}
INLINE int16_t *widen_many(const uint8_t *from, int64_t count, int32_t flip, int16_t *to) {
    const int64_t whole = count & -GROUP;
    const uint8_t *const last = from + whole - 16;
    int16_t *const end = to + whole;
    for (const uint8_t *x = from; x < last; x += 16, to += 16) WIDEN_SIXTEEN(x, flip, to);
    WIDEN_SIXTEEN(last, flip, end - 16);
    return whole == count ? end : widen_rest(from, count, flip, end);
}
INLINE int16_t *widen_piece(const uint8_t *from, int64_t count, int32_t flip, int16_t *to) {
    return count >= 16  ? widen_many(from, count, flip, to)
           : count >= 8 ? widen_some(from, count, flip, to)
                        : widen_few(from, count, flip, to);
}

/* Widens the groups of a row that lie in the stretch, if it does not have all of them. */
static void widen_part(const ml_matmul_s8_args *p, const uint8_t *a, const stretch *s,
                       int16_t *to) {
    const int64_t of_piece = ml_ceil_div(p->k, GROUP);
    int64_t piece = s->first / of_piece, group = s->first % of_piece;
    for (int64_t left = s->groups, count; left > 0; left -= count, piece++, group = 0) {
        const uint8_t *from = a + piece * p->piece_stride + group * GROUP;
        const int64_t bytes = p->k - group * GROUP;
        count = of_piece - group < left ? of_piece - group : left;
        if (group + count < of_piece) {
            to = widen_piece(from, count * GROUP, p->flip, to);
        } else if (bytes >= GROUP || group == 0) {
            to = widen_piece(from, bytes, p->flip, to);
        } else { /* only the last group */
            WIDEN_FOUR(from + bytes - GROUP, p->flip, to);
            to += GROUP;
        }
    }
}

/* Widens whole rows of a line, piece by piece. Arguments are copies, so that none is read again
 * after a store. */
#define WIDEN_ROWS(kind)                                                                        \
    __attribute__((noinline)) static void kind##_rows(                                          \
        const ml_matmul_s8_args *p, const uint8_t *a, int64_t rows, int16_t *to) {              \
        const int64_t k = p->k, a_stride = p->a_stride, piece_stride = p->piece_stride;         \
        const int32_t flip = p->flip;                                                           \
        for (int64_t piece = p->pieces; piece > 0; piece--, a += piece_stride) {                \
            const uint8_t *from = a;                                                            \
            int16_t *next = to;                                                                 \
            for (int64_t r = rows; r > 0; r--, from += a_stride, next += NEAR)                  \
                kind(from, k, flip, next);                                                      \
            to += ml_round_up(k, GROUP);                                                        \
        }                                                                                       \
    }
WIDEN_ROWS(widen_few)
WIDEN_ROWS(widen_some)
WIDEN_ROWS(widen_many)
typedef void rows_fn(const ml_matmul_s8_args *p, const uint8_t *a, int64_t rows, int16_t *to);

static void widen_rows(const ml_matmul_s8_args *p, row_cursor *at, int64_t line_stride,
                       int64_t rows, bool all, stretch *s) {
    row_cursor next = *at;
    rows_fn *const widen = p->k >= 16  ? widen_many_rows
                           : p->k >= 8 ? widen_some_rows
                                       : widen_few_rows;
    for (int64_t r = 0, count; r < rows; r += count) {
        if (next.of_line == p->rows) {
            next.of_line = 0;
            next.row = next.line += line_stride;
        }
        count = p->rows - next.of_line < rows - r ? p->rows - next.of_line : rows - r;
        if (all) widen(p, next.row, count, s->rows[r]);
        for (int64_t i = 0; i < count && !all; i++)
            widen_part(p, next.row + i * p->a_stride, s, s->rows[r + i]);
        next.row += count * p->a_stride;
        next.of_line += count;
    }
    *at = next;
}

/* Adds the products of one group of each row to `start`; or, if that is NULL, to `sums`. */
INLINE void add_group(const int16_t *x, const int8_t *w, const int rows, const int vectors,
                      const VECTOR_S32 *start, VECTOR_S32 *sums) {
    VECTOR_S32 weights[MOST_ALONE];
    ML_UNROLL(8)
    for (int v = 0; v < vectors; v++) weights[v] = WEIGHTS(w + v * OUTPUTS * GROUP);
    ML_UNROLL(8)
    for (int r = 0; r < rows; r++) {
        const VECTOR_S32 values = FOUR(x + r * NEAR);
        ML_UNROLL(8)
        for (int v = 0; v < vectors; v++) {
            VECTOR_S32 *sum = &sums[r * vectors + v];
            *sum = start ? ADD_PRODUCTS(start[v], values, weights[v])
                         : ADD_PAIRS(*sum, values, weights[v]);
            __asm__("" : "+x"(*sum)); /* stays in its register */
        }
    }
}

/* Adds the first group, then the others in pairs. If the number of groups is even, the first pair
 * has only its second one: the loop is entered in its middle, so that all sums stay in their
 * registers. */
INLINE void tile(const void *own, const tile_place *at, const int rows, const int vectors) {
    VECTOR_S32 sums[ROWS * 2 > MOST_ALONE ? ROWS * 2 : MOST_ALONE], joined[ROWS], start[MOST_ALONE];
    ML_UNROLL(8)
    for (int v = 0; v < vectors; v++) start[v] = BEGIN(own, at, v);
    const int16_t *x = at->s->rows[0], *const end = at->end;
    const int8_t *w = at->w;
    const int64_t step = at->step;
    const bool is_even = !((end - x) & GROUP);
    add_group(x, w, rows, vectors, start, sums);
    if (is_even) goto second;
    x += GROUP, w += step;
    while (x != end) {
        if (vectors == MOST_ALONE) {
            __builtin_prefetch(w + AHEAD);
            __builtin_prefetch(w + step + AHEAD);
        }
        add_group(x, w, rows, vectors, NULL, sums);
    second:
        add_group(x + GROUP, w + step, rows, vectors, NULL, sums);
        x += 2 * GROUP, w += 2 * step;
    }
    ML_UNROLL(8)
    for (int i = 0; i < rows * vectors / 2; i++)
        joined[i] = JOIN_PAIRS(sums[2 * i], sums[2 * i + 1]);
    FINISH_TILE(own, at, rows, vectors / 2, joined);
}

/* Computes all outputs of some rows. A panel's packed weights are those of a multiple of ML_PART_S8
 * outputs, so a tile never reads beyond them. */
INLINE void meet_panels(const void *own, const ml_matmul_s8_args *p, const stretch *s, int64_t row,
                        const int rows) {
    const int64_t n = p->n, first = s->first;
    const int8_t *packed = p->packed;
    tile_place at = {.s = s, .end = s->rows[0] + s->groups * GROUP, .row = row};
    for (int64_t panel = 0; panel < n; panel += ML_PANEL_S8, packed += s->panel_bytes) {
        at.step = GROUP * ml_width_s8(n, panel);
        at.w = packed + first * at.step;
        at.output = panel;
        at.outputs = n - panel < ML_PANEL_S8 ? n : panel + ML_PANEL_S8;
        for (int vectors = 2; at.output < at.outputs; at.output += vectors * OUTPUTS) {
            if (rows > 1) tile(own, &at, rows, 2);
            else if (at.outputs - at.output > MOST_ALONE / 2 * OUTPUTS)
                tile(own, &at, 1, vectors = MOST_ALONE);
            else tile(own, &at, 1, vectors = MOST_ALONE / 2);
            at.w += vectors * OUTPUTS * GROUP;
        }
    }
}

typedef void meet_fn(const void *own, const ml_matmul_s8_args *p, const stretch *s, int64_t row);
#define DEFINE(rows)                                                                    \
    static void meet_##rows(const void *own, const ml_matmul_s8_args *p,                \
                            const stretch *s, int64_t row) {                            \
        meet_panels(own, p, s, row, rows);                                              \
    }
ROW_COUNTS(DEFINE)
#define ENTRY(rows) meet_##rows,
static meet_fn *const meet_rows[] = {NULL, ROW_COUNTS(ENTRY)};

/* Computes all outputs of the rows of some lines. The rows are divided evenly among as few tiles as
 * possible. */
INLINE void multiply_groups(const ml_matmul_s8_args *p, const void *own, int64_t lines,
                            int64_t line_stride, int64_t panel_bytes) {
    const int64_t groups = p->pieces * ml_ceil_div(p->k, GROUP), all = lines * p->rows;
    stretch s;
    row_cursor next = {p->a, p->a, 0};
    s.panel_bytes = panel_bytes;
    for (int64_t row = 0, rows; row < all; row += rows) {
        const row_cursor begin = next;
        rows = ml_even_part(all - row, ROWS);
        s.first = 0;
        do {
            s.last = groups - s.first <= NEAR / GROUP;
            s.groups = s.last ? groups - s.first : NEAR / GROUP;
            next = begin;
            widen_rows(p, &next, line_stride, rows, s.groups == groups, &s);
            meet_rows[rows](own, p, &s, row);
            s.first += s.groups;
        } while (s.first < groups);
    }
}

/* Rows without inputs get one group of zeros, because a tile has at least one group. */
static void multiply(const ml_matmul_s8_args *p, const void *own, int64_t lines,
                     int64_t line_stride) {
    static const int8_t zeros[ML_PANEL_S8 * GROUP];
    ml_matmul_s8_args some = *p;
    int64_t panel_bytes = ML_PANEL_S8 * p->pieces * ml_round_up(p->k, GROUP);
    if (p->k == 0) {
        some.a = (const uint8_t *)zeros;
        some.packed = zeros;
        some.a_stride = some.piece_stride = line_stride = 0;
        some.pieces = 1;
        some.k = GROUP;
    }
    multiply_groups(&some, own, lines, line_stride, panel_bytes);
}
