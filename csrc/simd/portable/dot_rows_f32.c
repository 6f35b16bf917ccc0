/* dot_rows_f32.c -- dot_rows_f32 in the words of a level.
 *
 * Sums run along k in the lanes of vectors. Four rows of w are multiplied with one or two rows of
 * x, so that several independent sums run at once. w is read from memory once, and from the cache
 * for further rows of x. */
#include "simd/words.h"

enum { DOT_ROWS = 4, DOT_PAIR = 2, DOT_CHUNK = 128 /* vectors that are summed in one go */ };

#define ALWAYS __attribute__((always_inline)) static inline

/* sums += vectors first to end - 1 of `xs` rows times `ws` rows. */
ALWAYS void add_dots(const ml_rows_f32_args *p, const float *x, const float *w, int64_t first,
                     int64_t end, const int xs, const int ws, VECTOR *sums) {
    for (int64_t j = first; j < end; j++) {
        VECTOR u[DOT_PAIR];
        ML_UNROLL(2)
        for (int i = 0; i < xs; i++) u[i] = LOAD(x + i * p->x_stride + j * LANES);
        ML_UNROLL(4)
        for (int r = 0; r < ws; r++) {
            const VECTOR v = LOAD(w + r * p->w_stride + j * LANES);
            ML_UNROLL(2)
            for (int i = 0; i < xs; i++) sums[i * ws + r] = FMA(u[i], v, sums[i * ws + r]);
        }
    }
}

/* Adds the last values of a row, fewer than a vector. */
ALWAYS void add_last_dots(const ml_rows_f32_args *p, const float *x, const float *w, int64_t count,
                          const int xs, const int ws, VECTOR *sums) {
    ML_UNROLL(4)
    for (int r = 0; r < ws; r++) {
        const VECTOR v = LOAD_PART(w + r * p->w_stride, count);
        ML_UNROLL(2)
        for (int i = 0; i < xs; i++)
            sums[i * ws + r] = FMA(LOAD_PART(x + i * p->x_stride, count), v, sums[i * ws + r]);
    }
}

ALWAYS void dot_tile(const ml_rows_f32_args *p, int64_t row, int64_t column, const int xs,
                     const int ws) {
    const float *x = p->x + row * p->x_stride, *w = p->w + column * p->w_stride;
    const int64_t vectors = p->k / LANES, left = p->k % LANES;
    VECTOR sums[DOT_PAIR * DOT_ROWS], total[DOT_PAIR * DOT_ROWS];
    for (int i = 0; i < xs * ws; i++) total[i] = SPLAT(0.0f);
    for (int64_t first = 0; first < vectors; first += DOT_CHUNK) {
        const int64_t end = vectors - first < DOT_CHUNK ? vectors : first + DOT_CHUNK;
        ML_UNROLL(8)
        for (int i = 0; i < xs * ws; i++) sums[i] = SPLAT(0.0f);
        add_dots(p, x, w, first, end, xs, ws, sums);
        ML_UNROLL(8)
        for (int i = 0; i < xs * ws; i++) total[i] = ADD(total[i], sums[i]);
    }
    if (left > 0) add_last_dots(p, x + vectors * LANES, w + vectors * LANES, left, xs, ws, total);
    for (int i = 0; i < xs; i++)
        for (int r = 0; r < ws; r++)
            p->y[(row + i) * p->y_stride + column + r] = SUM_OF(total[i * ws + r]);
}

void ML_VARIANT(dot_rows_f32)(const ml_rows_f32_args *p) {
    for (int64_t column = 0; column < p->n;) {
        const bool some = p->n - column >= DOT_ROWS;
        int64_t row = 0;
        for (; some && row + DOT_PAIR <= p->rows; row += DOT_PAIR)
            dot_tile(p, row, column, DOT_PAIR, DOT_ROWS);
        for (; row < p->rows; row++) {
            if (some) dot_tile(p, row, column, 1, DOT_ROWS);
            else dot_tile(p, row, column, 1, 1);
        }
        column += some ? DOT_ROWS : 1;
    }
}
