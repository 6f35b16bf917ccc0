/* byte_rows.c -- computes products and sums of rows of bytes, which may lie on several lines. */
#include "rules/byte_rows.h"

enum { GROUP = 4 /* bytes of a row that are multiplied at a time */ };

static void take_rows(const ml_byte_rows *rows, const ml_weights_s8 *weights,
                      ml_matmul_s8_args *args) {
    args->a_stride = rows->a_stride;
    args->piece_stride = rows->piece_stride;
    args->pieces = weights->pieces;
    args->flip = rows->flip;
    args->k = weights->k;
    args->narrow = weights->narrow;
    args->apart = weights->apart;
    /* A piece of less than a group is followed by zeros. */
    if (args->k < GROUP && rows->is_copy) args->k = GROUP;
}

void ml_multiply_rows(const ml_call *c, const ml_byte_rows *rows, const ml_weights_s8 *weights,
                      const ml_row_range *range, ml_matmul_s8_args *args) {
    const int64_t width = rows->width, count = range->count;
    int64_t before = range->first < width ? range->first : range->first % width;
    take_rows(rows, weights, args);
    for (int64_t r = 0; r < count; r += args->rows, before = 0) {
        args->a = ml_byte_row(rows, range->first + r) + range->plane * rows->plane;
        args->rows = ml_min_s64(count - r, width - before);
        c->env->simd->matmul_s8(args);
        args->y += args->rows * args->y_stride;
        if (args->factors) args->factors += args->rows;
    }
}

/* Takes `count` rows, which are part of one line, or whole lines; returns the number of lines. */
static int64_t take_lines(const ml_byte_rows *rows, const ml_weights_s8 *weights, int64_t count,
                          ml_matmul_s8_args *sums) {
    const int64_t lines = count <= rows->width ? 1 : count / rows->width;
    take_rows(rows, weights, sums);
    sums->a = rows->a;
    sums->rows = lines > 1 ? rows->width : count;
    return lines;
}

void ml_multiply_to_bytes(const ml_call *c, const ml_byte_rows *rows, const ml_weights_s8 *weights,
                          int64_t count, ml_matmul_s8_args *sums, const ml_requantize_args *bytes) {
    const ml_simd *simd = c->env->simd;
    const int64_t lines = take_lines(rows, weights, count, sums);
    simd->product_s8(simd, sums, bytes, lines, rows->line_stride);
}

void ml_multiply_to_floats(const ml_call *c, const ml_byte_rows *rows, const ml_weights_s8 *weights,
                           int64_t count, ml_matmul_s8_args *sums,
                           const ml_scale_s32_args *floats) {
    const ml_simd *simd = c->env->simd;
    const int64_t lines = take_lines(rows, weights, count, sums);
    simd->product_f32(simd, sums, floats, lines, rows->line_stride);
}

void ml_sum_byte_rows(const ml_call *c, const ml_byte_rows *rows, const ml_weights_s8 *weights,
                      int64_t count, int32_t *sums) {
    const int64_t pieces = weights->pieces, k = weights->k;
    const int32_t flipped = (int32_t)(rows->flip * k * pieces);
    for (int64_t r = 0; r < count; r++) sums[r] = flipped;
    for (int64_t r = 0, some; r < count; r += some) {
        some = ml_min_s64(count - r, rows->width);
        for (int64_t piece = 0; piece < pieces; piece++) {
            const ml_sum_rows_s8_args args = {.x =
                                                  ml_byte_row(rows, r) + piece * rows->piece_stride,
                                              .rows = some,
                                              .stride = rows->a_stride,
                                              .n = k,
                                              .sums = sums + r,
                                              .is_signed = rows->flip != 0,
                                              .along = true};
            c->env->simd->sum_rows_s8(&args);
        }
    }
}
