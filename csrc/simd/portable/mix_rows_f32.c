/* mix_rows_f32.c -- mix_rows_f32 in the words of a level.
 *
 * The sums of some columns stay in vectors while all rows of w are read. With a single row of x,
 * more columns are computed at once, so that there are as many independent sums, and longer
 * stretches of w are read. */
#include "simd/words.h"

enum { MIX_SUMS = 8, MIX_ROWS = 4, MIX_CHUNK = 128 /* rows summed in one go */ };

#define ALWAYS __attribute__((always_inline)) static inline

/* sums += rows first to end - 1 of w, in `vectors` vectors, of which the last may be a part. */
ALWAYS void add_rows(const ml_rows_f32_args *p, const float *x, const float *w, int64_t first,
                     int64_t end, const int rows, const int vectors, int64_t part, VECTOR *sums) {
    for (int64_t j = first; j < end; j++) {
        const float *from = w + j * p->w_stride;
        VECTOR v[MIX_SUMS];
        ML_UNROLL(8)
        for (int c = 0; c < vectors; c++)
            v[c] = part ? LOAD_PART(from + c * LANES, part) : LOAD(from + c * LANES);
        ML_UNROLL(4)
        for (int i = 0; i < rows; i++) {
            const VECTOR u = SPLAT(x[i * p->x_stride + j]);
            ML_UNROLL(8)
            for (int c = 0; c < vectors; c++)
                sums[i * vectors + c] = FMA(u, v[c], sums[i * vectors + c]);
        }
    }
}

ALWAYS void mix_tile(const ml_rows_f32_args *p, int64_t row, int64_t column, const int rows,
                     const int vectors, int64_t part) {
    const float *x = p->x + row * p->x_stride;
    VECTOR sums[MIX_SUMS], total[MIX_SUMS];
    for (int i = 0; i < rows * vectors; i++) total[i] = SPLAT(0.0f);
    for (int64_t first = 0; first < p->k; first += MIX_CHUNK) {
        const int64_t end = p->k - first < MIX_CHUNK ? p->k : first + MIX_CHUNK;
        ML_UNROLL(8)
        for (int i = 0; i < rows * vectors; i++) sums[i] = SPLAT(0.0f);
        add_rows(p, x, p->w + column, first, end, rows, vectors, part, sums);
        ML_UNROLL(8)
        for (int i = 0; i < rows * vectors; i++) total[i] = ADD(total[i], sums[i]);
    }
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < vectors; c++) {
            float *y = p->y + (row + i) * p->y_stride + column + c * LANES;
            if (part) STORE_PART(y, total[i * vectors + c], part);
            else STORE(y, total[i * vectors + c]);
        }
}

/* Computes all rows of x, for `vectors` vectors of columns, or a `part` of one. */
#define MIX_COLUMNS(vectors, part)                                                    do {                                                                                  int64_t row = 0;                                                                  for (; (vectors) <= MIX_SUMS / MIX_ROWS && row + MIX_ROWS <= p->rows;                  row += MIX_ROWS)                                                                 mix_tile(p, row, column, MIX_ROWS, (vectors) > 2 ? 2 : (vectors), part);         for (; row < p->rows; row++) mix_tile(p, row, column, 1, vectors, part);      } while (0)

void ML_VARIANT(mix_rows_f32)(const ml_rows_f32_args *p) {
    int64_t column = 0;
    if (p->rows < MIX_ROWS)
        for (; column + MIX_SUMS * LANES <= p->n; column += MIX_SUMS * LANES)
            MIX_COLUMNS(MIX_SUMS, 0);
    for (; column + 2 * LANES <= p->n; column += 2 * LANES) MIX_COLUMNS(2, 0);
    for (; column + LANES <= p->n; column += LANES) MIX_COLUMNS(1, 0);
    if (column < p->n) MIX_COLUMNS(1, p->n - column);
}
