/* byte_rows.h -- rows of bytes that may lie on several lines: their products with packed weights,
 * and their sums. */
#ifndef ML_RULES_BYTE_ROWS_H
#define ML_RULES_BYTE_ROWS_H

#include "rules/bytes.h"

/* The rows of a block, as bytes, in lines of `width` rows each. */
typedef struct ml_byte_rows {
    const uint8_t *a;
    int64_t a_stride;
    int64_t piece_stride;
    int64_t width;
    int64_t line_stride;
    int64_t plane; /* from the high bytes of s16 to the low ones */
    int32_t flip; /* as in ml_matmul_s8_args */
    bool is_copy; /* a copy: bytes after it may be read */
} ml_byte_rows;

/* The address of row `row`. */
static inline const uint8_t *ml_byte_row(const ml_byte_rows *r, int64_t row) {
    if (row < r->width) return r->a + row * r->a_stride;
    return r->a + row / r->width * r->line_stride + row % r->width * r->a_stride;
}

/* Computes the sums of some of the rows, which may lie on several lines; everything else is as in
 * args. */
typedef struct ml_row_range {
    int64_t first;
    int64_t count;
    int64_t plane;
} ml_row_range;
void ml_multiply_rows(const ml_call *c, const ml_byte_rows *rows, const ml_weights_s8 *weights,
                      const ml_row_range *range, ml_matmul_s8_args *args);
/* Computes the sums of the first `count` rows (part of one line, or whole lines) and requantizes or
 * scales them. */
void ml_multiply_to_bytes(const ml_call *c, const ml_byte_rows *rows, const ml_weights_s8 *weights,
                          int64_t count, ml_matmul_s8_args *sums, const ml_requantize_args *bytes);
void ml_multiply_to_floats(const ml_call *c, const ml_byte_rows *rows, const ml_weights_s8 *weights,
                           int64_t count, ml_matmul_s8_args *sums, const ml_scale_s32_args *floats);

/* For each of the first `count` rows, the sum of its bytes, of those that are multiplied with
 * weights. */
void ml_sum_byte_rows(const ml_call *c, const ml_byte_rows *rows, const ml_weights_s8 *weights,
                      int64_t count, int32_t *sums);

#endif
