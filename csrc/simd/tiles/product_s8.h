/* product_s8.h -- product_s8 by the level's matmul_s8 and requantize or requantize_f64. As many
 * sums are computed at a time as stay in the cache: those of PRODUCT_ROWS rows of one panel, or of
 * fewer rows of more panels. The file that includes it may define PRODUCT_ROWS, by default the rows
 * of two tiles. */
#include "simd/simd.h"

#ifndef PRODUCT_ROWS
#define PRODUCT_ROWS (2 * ML_ROWS_S8)
#endif

static inline void scale_part(const ml_simd *simd, const ml_requantize_args *to, int64_t column) {
    ml_requantize_args bytes = *to;
    if (!to->reals) {
        bytes.mantissas += column;
        bytes.shifts += column;
        simd->requantize(&bytes);
        return;
    }
    const ml_requantize_f64_args reals = {.sums = to->sums,
                                          .rows = to->rows,
                                          .sums_stride = to->sums_stride,
                                          .n = to->n,
                                          .reals = to->reals + column,
                                          .y = to->y,
                                          .y_stride = to->y_stride,
                                          .zero = to->zero,
                                          .low = to->low,
                                          .high = to->high};
    simd->requantize_f64(&reals);
}

/* Computes outputs column .. column + n - 1 of rows row .. row + rows - 1. */
static inline void multiply_part(const ml_simd *simd, const ml_matmul_s8_args *args,
                                 const ml_requantize_args *bytes, int64_t row, int64_t rows,
                                 int64_t column, int64_t n) {
    int32_t sums[PRODUCT_ROWS * ML_PANEL_S8];
    ml_matmul_s8_args p = *args;
    ml_requantize_args to = *bytes;
    p.a += row * p.a_stride;
    p.rows = to.rows = rows;
    p.packed += ml_packed_s8(column, p.pieces, p.k);
    p.n = p.y_stride = to.n = to.sums_stride = n;
    if (p.bias) p.bias += column;
    if (p.factors) p.factors += row, p.columns += column;
    p.y = sums;
    to.sums = sums;
    to.bias = NULL;
    to.y += row * to.y_stride + column;
    simd->matmul_s8(&p);
    scale_part(simd, &to, column);
}

/* Computes the outputs of some panels, n from `column` on, in all lines. */
static inline void multiply_panels(const ml_simd *simd, const ml_matmul_s8_args *args,
                                   const ml_requantize_args *bytes, int64_t lines,
                                   int64_t line_stride, int64_t column, int64_t n) {
    ml_matmul_s8_args p = *args;
    ml_requantize_args to = *bytes;
    for (int64_t line = 0; line < lines; line++, p.a += line_stride) {
        for (int64_t row = 0, rows; row < p.rows; row += rows) {
            rows = p.rows - row < PRODUCT_ROWS ? p.rows - row : PRODUCT_ROWS;
            multiply_part(simd, &p, &to, row, rows, column, n);
        }
        if (p.factors) p.factors += p.rows;
        to.y += p.rows * to.y_stride;
    }
}

static inline void multiply_all(const ml_simd *simd, const ml_matmul_s8_args *p,
                                const ml_requantize_args *bytes, int64_t lines,
                                int64_t line_stride) {
    const int64_t rows = p->rows < 1 ? 1 : p->rows < PRODUCT_ROWS ? p->rows : PRODUCT_ROWS;
    const int64_t most = PRODUCT_ROWS / rows * ML_PANEL_S8;
    for (int64_t column = 0, n; column < p->n; column += n) {
        n = p->n - column < most ? p->n - column : most;
        multiply_panels(simd, p, bytes, lines, line_stride, column, n);
    }
}
