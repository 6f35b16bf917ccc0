/* matmul_s8_wide.h -- matmul_s8 by products of 16-bit pairs, for vectors of any width.
 *
 * The file that includes it names its FUNCTION and says what its vectors are: VECTOR; OUTPUTS, of which a vector has two sums
 * each; ROWS and VECTORS of a tile; ZERO(); WEIGHTS(p), OUTPUTS * 4 bytes widened; FOUR(p), the four values at p for each
 * output; ADD_PAIRS(a, w, sum); and JOIN(sums, y), VECTORS of sums, each pair added, to OUTPUTS * VECTORS int32.
 *
 * The rows of a tile are widened first, a stretch of k at a time, which all outputs then meet. */
#include <string.h>

#include "simd.h"

enum { GROUP = 4, NEAR = 512 /* inputs widened at a time */, TILE = OUTPUTS * VECTORS };

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
        for (int64_t j = 0; j < run * GROUP; j++) to[j] = from[j];
        to += run * GROUP;
        if (run == count) continue;
        const uint8_t *last = group_of(p, a, piece, of_piece - 1);
        for (int64_t j = 0; j < GROUP; j++) to[j] = j < p->k ? last[j] : 0;
        to += GROUP;
    }
}

INLINE void tile(const stretch *s, const int8_t *w, int64_t step, const int rows,
                 int32_t y[ROWS][TILE]) {
    VECTOR sums[ROWS][VECTORS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) sums[r][v] = ZERO();
    for (int64_t g = 0; g < s->groups; g++, w += step) {
        VECTOR weights[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) weights[v] = WEIGHTS(w + v * OUTPUTS * GROUP);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const VECTOR x = FOUR(s->rows[r] + g * GROUP);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) sums[r][v] = ADD_PAIRS(x, weights[v], sums[r][v]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) JOIN(sums[r], y[r]);
}

#define CASE(count) \
    case count: tile(s, w, step, count, y); break;
static void run_tile(const stretch *s, const int8_t *w, int64_t step, int64_t rows,
                     int32_t y[ROWS][TILE]) {
    switch (rows) { ROW_COUNTS(CASE) }
}

/* What does not hang on products, with the first stretch; the others add to what is there. */
static void store(const ml_matmul_s8_args *p, int64_t row, int64_t rows, int64_t output, bool begin,
                  int32_t sums[ROWS][TILE]) {
    const int64_t left = p->n - output, there = left < TILE ? left : TILE;
    for (int64_t r = 0; r < rows; r++) {
        int32_t *y = p->y + (row + r) * p->y_stride + output;
        uint32_t *sum = (uint32_t *)sums[r];
        for (int64_t i = 0; i < there && !begin; i++) sum[i] += (uint32_t)y[i];
        for (int64_t i = 0; i < there && begin && p->bias; i++)
            sum[i] += (uint32_t)p->bias[output + i];
        for (int64_t i = 0; i < there && begin && p->factors; i++)
            sum[i] += (uint32_t)p->factors[row + r] * (uint32_t)p->columns[output + i];
        if (there == TILE) memcpy(y, sum, TILE * sizeof *y);
        else memcpy(y, sum, (size_t)there * sizeof *y);
    }
}

static void meet(const ml_matmul_s8_args *p, const stretch *s, int64_t row, int64_t rows,
                 int64_t bytes) {
    int32_t sums[ROWS][TILE];
    for (int64_t panel = 0; panel < p->n; panel += ML_PANEL_S8) {
        const int64_t width = ml_width_s8(p->n, panel), step = GROUP * width;
        const int8_t *w = p->packed + panel * bytes + s->first * step;
        for (int64_t i = panel; i < panel + width && i < p->n; i += TILE, w += TILE * GROUP) {
            run_tile(s, w, step, rows, sums);
            store(p, row, rows, i, s->first == 0, sums);
        }
    }
}

void FUNCTION(const ml_matmul_s8_args *p) {
    const int64_t groups = p->pieces * ((p->k + GROUP - 1) / GROUP);
    int64_t row = 0;
    for (int64_t parts = (p->rows + ROWS - 1) / ROWS; parts > 0; parts--) {
        const int64_t rows = (p->rows - row + parts - 1) / parts;
        stretch s = {.first = 0};
        do {
            s.groups = groups - s.first < NEAR / GROUP ? groups - s.first : NEAR / GROUP;
            for (int64_t r = 0; r < rows; r++) widen(p, row + r, &s, s.rows[r]);
            meet(p, &s, row, rows, groups * GROUP);
            s.first += s.groups;
        } while (s.first < groups);
        row += rows;
    }
}
