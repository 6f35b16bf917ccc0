/* product_s8.h -- product_s8 by the level's matmul_s8 and requantize, as many sums at a time as
 * stay in the cache: PRODUCT_ROWS, which the file that includes it names where they are not two
 * tiles. */
#include "simd/simd.h"

#ifndef PRODUCT_ROWS
#define PRODUCT_ROWS (2 * ML_ROWS_S8)
#endif

/* Outputs column .. column + n - 1 of rows row .. row + rows - 1. */
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
    to.mantissas += column;
    to.shifts += column;
    to.y += row * to.y_stride + column;
    simd->matmul_s8(&p);
    simd->requantize(&to);
}

/* A panel's outputs of all lines. */
static inline void multiply_panel(const ml_simd *simd, const ml_matmul_s8_args *args,
                                  const ml_requantize_args *bytes, int64_t lines,
                                  int64_t line_stride, int64_t column) {
    const int64_t left = args->n - column, n = left < ML_PANEL_S8 ? left : ML_PANEL_S8;
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
