/* means.c -- MEAN of bytes, in the cases where a primitive sums whole rows. */
#include <stdlib.h>

#include "kernels/reduction/reduction.h"

int64_t ml_derive_mean(const ml_call *c, void *to) {
    const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);
    if (to) *(ml_rescale *)to = ml_rescale_of(in, out, (double)in.scale / (double)out.scale);
    return (int64_t)sizeof(ml_rescale);
}

/* The multiplier divided by `count`, as QuantizedMeanOrSum derives it. It applies to sums, whose
 * zero point is count times the input's. */
static ml_rescale divided(const ml_rescale *p, int64_t count) {
    ml_rescale of_sum = *p;
    int32_t bits = 63 - __builtin_clzll((uint64_t)count);
    bits = bits > 32 ? 32 : bits;
    bits = bits > 31 + p->shift ? 31 + p->shift : bits;
    of_sum.mantissa = (int32_t)(((int64_t)p->mantissa << bits) / count);
    of_sum.shift = p->shift - bits;
    of_sum.input_zero_point = (int32_t)((uint32_t)p->input_zero_point * (uint32_t)count);
    return of_sum;
}

ml_rescale ml_mean_rescale(const ml_call *c) {
    return divided(c->derived, ((const ml_reduce *)c->blob)->count);
}

enum { COLUMNS = 256, LANES = 16 };

/* True if the rows of bytes that are added to the same results follow each other, as for a mean
 * over the height and width of an image. */
static bool is_image(const ml_reduce *r) {
    const bool image = r->n_outer == 1 || (r->n_outer == 2 && r->kept == 2);
    return !r->row_reduced && image && !(r->kept & 1);
}

/* True if each row gives one result. */
static bool is_list(const ml_reduce *r) {
    return r->row_reduced && (r->n_outer == 0 || (r->n_outer == 1 && r->kept == 1));
}

/* True only with multipliers in the range of requantize, so that nothing wraps. */
bool ml_mean_is_direct(const ml_call *c) {
    const ml_reduce *r = c->blob;
    if (ml_in_tensor(c, 0)->type == ML_S16 || r->count == 0 || r->count > 1 << 20) return false;
    if (!is_image(r) && !is_list(r)) return false;
    const ml_rescale p = ml_mean_rescale(c);
    return p.shift <= 0 && p.mantissa >= 0 && abs(p.input_zero_point) < 1 << 29;
}

/* Requantizes sums to bytes, all with the same multiplier. */
static void write_means(const ml_call *c, const ml_rescale *p, const int32_t *sums, int64_t n,
                        int8_t *y) {
    int32_t bias[LANES], mantissas[LANES], shifts[LANES];
    for (int i = 0; i < LANES; i++) {
        bias[i] = -p->input_zero_point;
        mantissas[i] = p->mantissa;
        shifts[i] = p->shift;
    }
    ml_requantize_args args = {.sums = sums,
                               .rows = n / LANES,
                               .sums_stride = LANES,
                               .n = LANES,
                               .bias = bias,
                               .mantissas = mantissas,
                               .shifts = shifts,
                               .y = y,
                               .y_stride = LANES,
                               .zero = p->zero_point,
                               .low = p->least + p->zero_point,
                               .high = p->most + p->zero_point,
                               .limit = ML_LIMIT};
    c->env->simd->requantize(&args);
    args.sums += args.rows * LANES;
    args.y += args.rows * LANES;
    args.n = n % LANES;
    args.rows = 1;
    c->env->simd->requantize(&args);
}

/* Computes the means of blocks of columns of each image. */
static ml_status mean_columns(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                              void *args) {
    const ml_reduce *r = c->blob;
    const int64_t across = ml_ceil_div(r->row, COLUMNS), rows = r->count;
    const ml_rescale p = ml_mean_rescale(c);
    int64_t work = 0;
    for (int64_t i = first; i < end; i++) {
        const int64_t column = i % across * COLUMNS, n = ml_min_s64(COLUMNS, r->row - column);
        int32_t sums[COLUMNS] = {0};
        ml_sum_rows_s8_args block = {.x = (const uint8_t *)ml_in(c, 0) + column,
                                     .stride = r->row,
                                     .n = n,
                                     .sums = sums,
                                     .is_signed = ml_in_tensor(c, 0)->type == ML_S8};
        for (int64_t row = 0; row < rows; row += block.rows) {
            block.rows = ml_min_s64(rows - row, 1 + ML_BLOCK_ELEMENTS / n);
            block.x = (const uint8_t *)ml_in(c, 0) + column + (i / across * rows + row) * r->row;
            c->env->simd->sum_rows_s8(&block);
            const ml_status status = ml_count_work(c, block.rows * n, &work);
            if (status != ML_OK) return status;
        }
        write_means(c, &p, sums, n, (int8_t *)ml_out(c, 0) + i / across * r->row + column);
    }
    return ML_OK;
}

/* Computes the mean of each row. */
static ml_status mean_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                           void *args) {
    const ml_reduce *r = c->blob;
    const ml_rescale p = ml_mean_rescale(c);
    int64_t work = 0;
    for (int64_t row = first; row < end; row += COLUMNS) {
        int32_t sums[COLUMNS] = {0};
        ml_sum_rows_s8_args block = {.rows = ml_min_s64(end - row, COLUMNS),
                                     .stride = r->row,
                                     .sums = sums,
                                     .is_signed = ml_in_tensor(c, 0)->type == ML_S8,
                                     .along = true};
        for (int64_t column = 0; column < r->row; column += block.n) {
            block.n = ml_min_s64(r->row - column, ML_BLOCK_ELEMENTS);
            block.x = (const uint8_t *)ml_in(c, 0) + row * r->row + column;
            c->env->simd->sum_rows_s8(&block);
            const ml_status status = ml_count_work(c, block.rows * block.n, &work);
            if (status != ML_OK) return status;
        }
        write_means(c, &p, sums, block.rows, (int8_t *)ml_out(c, 0) + row);
    }
    return ML_OK;
}

ml_status ml_mean_direct(const ml_call *c) {
    const ml_reduce *r = c->blob;
    if (is_list(r)) return ml_in_blocks(c, r->rows, r->row, mean_rows, NULL);
    const int64_t across = ml_ceil_div(r->row, COLUMNS);
    return ml_in_blocks(c, r->outputs / r->row * across, ml_min_s64(r->row, COLUMNS) * r->count,
                        mean_columns, NULL);
}
