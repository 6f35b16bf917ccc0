/* product_s8.h -- product_s8 by the level's matmul_s8 and requantize or requantize_f64. */
#include "simd/tiles/product_parts.h"

static inline void requantize_part(const ml_simd *simd, const void *outputs,
                                   const product_part *part) {
    ml_requantize_args to = *(const ml_requantize_args *)outputs;
    to.sums = part->sums;
    to.rows = part->rows;
    to.n = to.sums_stride = part->n;
    to.bias = NULL;
    to.y += part->row * to.y_stride + part->column;
    if (!to.reals) {
        to.mantissas += part->column;
        to.shifts += part->column;
        simd->requantize(&to);
        return;
    }
    const ml_requantize_f64_args reals = {.sums = to.sums,
                                          .rows = to.rows,
                                          .sums_stride = to.sums_stride,
                                          .n = to.n,
                                          .reals = to.reals + part->column,
                                          .y = to.y,
                                          .y_stride = to.y_stride,
                                          .zero = to.zero,
                                          .low = to.low,
                                          .high = to.high};
    simd->requantize_f64(&reals);
}

static inline whole_product product_of_bytes(const ml_simd *simd, const ml_matmul_s8_args *sums,
                                             const ml_requantize_args *bytes, int64_t lines,
                                             int64_t line_stride) {
    return (whole_product){simd, sums, bytes, requantize_part, lines, line_stride};
}
