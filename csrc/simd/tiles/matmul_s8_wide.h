/* matmul_s8_wide.h -- matmul_s8 by products of 16-bit pairs, for vectors of any width.
 *
 * The file that includes it says what its vectors are: VECTOR; OUTPUTS, of which a vector has two
 * sums each; ROWS and VECTORS of a tile (a row alone has ALONE vectors), ROW_COUNTS(X) from 2 to
 * ROWS; ZERO(); WEIGHTS(p), OUTPUTS * 4 bytes widened; FOUR(p), the four values at p for each
 * output; WIDEN(from, flip, to), 16 bytes, flipped, to int16; ADD_PAIRS(a, w, sum); and JOIN(a, b,
 * y), the sums of two vectors, each pair added, to 2 * OUTPUTS int32.
 *
 * The rows of a tile are widened first, a stretch of k at a time, which all outputs then meet. */
#include <string.h>

#include "simd/simd.h"

enum { GROUP = 4, NEAR = 512 /* inputs widened at a time */, MOST_TILE = OUTPUTS * ALONE };

#define INLINE __attribute__((always_inline)) static inline

/* The groups of some rows, from one group of a row on. */
typedef struct stretch {
    int16_t rows[ROWS][NEAR];
    int64_t first;
    int64_t groups;
} stretch;

/* Group `group` of a row, as the weights have it. */
INLINE const uint8_t *group_of(const ml_matmul_s8_args *p, const uint8_t *a, int64_t piece,
                               int64_t group) {
    const int64_t at = group * GROUP, last = p->k - GROUP;
    return a + piece * p->piece_stride + (at > last && last > 0 ? last : at);
}

/* Four bytes, spread with shifts. */
INLINE void widen_group(const uint8_t *from, int32_t flip, int16_t *to) {
    uint32_t bytes;
    memcpy(&bytes, from, sizeof bytes);
    uint64_t words = bytes ^ (uint32_t)flip * UINT32_C(0x01010101);
    words = (words | words << 16) & UINT64_C(0x0000FFFF0000FFFF);
    words = (words | words << 8) & UINT64_C(0x00FF00FF00FF00FF);
    memcpy(to, &words, sizeof words);
}

static void widen(const ml_matmul_s8_args *p, int64_t row, stretch *s, int16_t *to) {
    const uint8_t *a = p->a + row * p->a_stride;
    const int64_t of_piece = (p->k + GROUP - 1) / GROUP;
    if (s->groups == 0) return;
    int64_t piece = s->first / of_piece, group = s->first % of_piece;
    for (int64_t left = s->groups, count; left > 0; left -= count, piece++, group = 0) {
        const int64_t whole = p->k / GROUP - group;
        count = of_piece - group < left ? of_piece - group : left;
        const uint8_t *from = group_of(p, a, piece, group);
        const int64_t run = whole < count ? whole : count;
        int64_t g = 0;
        for (; g + 4 <= run; g += 4) WIDEN(from + g * GROUP, p->flip, to + g * GROUP);
        for (; g < run; g++) widen_group(from + g * GROUP, p->flip, to + g * GROUP);
        to += run * GROUP;
        if (run == count) continue;
        const uint8_t *last = group_of(p, a, piece, of_piece - 1);
        if (p->k >= GROUP) widen_group(last, p->flip, to);
        else
            for (int64_t j = 0; j < GROUP; j++) to[j] = j < p->k ? (int16_t)(last[j] ^ p->flip) : 0;
        to += GROUP;
    }
}

INLINE void tile(const stretch *s, const int8_t *w, int64_t step, const int rows, const int vectors,
                 int32_t y[ROWS][MOST_TILE]) {
    VECTOR sums[ROWS][ALONE];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) sums[r][v] = ZERO();
    for (int64_t g = 0; g < s->groups; g++, w += step) {
        VECTOR weights[ALONE];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) weights[v] = WEIGHTS(w + v * OUTPUTS * GROUP);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const VECTOR x = FOUR(s->rows[r] + g * GROUP);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                sums[r][v] = ADD_PAIRS(x, weights[v], sums[r][v]);
                __asm__("" : "+x"(sums[r][v])); /* stays in its register */
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v += 2) JOIN(sums[r][v], sums[r][v + 1], y[r] + v * OUTPUTS);
}

#define CASE(count) \
    case count: tile(s, w, step, count, VECTORS, y); break;
static void run_tile(const stretch *s, const int8_t *w, int64_t step, int64_t rows,
                     int32_t y[ROWS][MOST_TILE]) {
    switch (rows) {
    case 1:
        tile(s, w, step, 1, ALONE, y);
        break;
        ROW_COUNTS(CASE)
    }
}

/* What does not depend on products, with the first stretch; the others add to what is there. */
INLINE void store_row(const ml_matmul_s8_args *p, int64_t row, int64_t output, bool begin,
                      const int64_t count, int32_t *sums) {
    int32_t *y = p->y + row * p->y_stride + output;
    uint32_t *sum = (uint32_t *)sums;
    if (!begin)
        for (int64_t i = 0; i < count; i++) sum[i] += (uint32_t)y[i];
    if (begin && p->bias)
        for (int64_t i = 0; i < count; i++) sum[i] += (uint32_t)p->bias[output + i];
    if (begin && p->factors)
        for (int64_t i = 0; i < count; i++)
            sum[i] += (uint32_t)p->factors[row] * (uint32_t)p->columns[output + i];
    memcpy(y, sum, (size_t)count * sizeof *y);
}

static void meet(const ml_matmul_s8_args *p, const stretch *s, int64_t row, int64_t rows,
                 int64_t bytes) {
    const int64_t wide = OUTPUTS * (rows == 1 ? ALONE : VECTORS);
    int32_t sums[ROWS][MOST_TILE];
    for (int64_t panel = 0; panel < p->n; panel += ML_PANEL_S8) {
        const int64_t width = ml_width_s8(p->n, panel), step = GROUP * width;
        const int8_t *w = p->packed + panel * bytes + s->first * step;
        for (int64_t i = panel; i < panel + width && i < p->n; i += wide, w += wide * GROUP) {
            run_tile(s, w, step, rows, sums);
            for (int64_t r = 0; r < rows; r++) {
                if (p->n - i < wide) store_row(p, row + r, i, s->first == 0, p->n - i, sums[r]);
                else if (rows == 1) store_row(p, row, i, s->first == 0, MOST_TILE, sums[0]);
                else store_row(p, row + r, i, s->first == 0, OUTPUTS * VECTORS, sums[r]);
            }
        }
    }
}

INLINE void multiply(const ml_matmul_s8_args *p) {
    const int64_t groups = p->pieces * ((p->k + GROUP - 1) / GROUP);
    int64_t row = 0;
    for (int64_t parts = (p->rows + ROWS - 1) / ROWS; parts > 0; parts--) {
        const int64_t rows = (p->rows - row + parts - 1) / parts;
        stretch s;
        s.first = 0;
        do {
            s.groups = groups - s.first < NEAR / GROUP ? groups - s.first : NEAR / GROUP;
            for (int64_t r = 0; r < rows; r++) widen(p, row + r, &s, s.rows[r]);
            meet(p, &s, row, rows, groups * GROUP);
            s.first += s.groups;
        } while (s.first < groups);
        row += rows;
    }
}
