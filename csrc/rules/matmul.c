/* matmul.c -- multiplies blocks of rows with packed weights. */
#include "rules/matmul.h"

enum { BLOCK_BYTES = 64 << 10, MANY_ROWS = 7 };

/* The cost of an output apart from its products. */
enum { OUTPUT_COST = 8 };

/* Weights -------------------------------------------------------------------------------------- */

static int64_t too_large(const ml_call *c) {
    char text[96];
    ml_fail(c, ML_SHAPE_ERROR, "weights of shape %s are too large to pack",
            ml_shape_text(&ml_input(c, 1)->shape, text));
    return -1;
}

int64_t ml_pack_weights_f32(const ml_call *c, void *to, int32_t groups) {
    const ml_simd *simd = c->env->simd;
    const ml_shape *shape = &ml_input(c, 1)->shape;
    int64_t n = shape->dims[0] / groups, k = n > 0 ? ml_elements(shape) / shape->dims[0] : 0, bytes;
    if (__builtin_mul_overflow((n + simd->matmul_f32_panel) * (int64_t)sizeof(float) * groups, k,
                               &bytes))
        return too_large(c);
    int64_t floats = ml_weights_f32(simd, n, k);
    for (int32_t g = 0; to && g < groups; g++)
        ml_pack_rows_f32(simd, (const float *)ml_value(c, 1) + g * n * k, n, k,
                         (float *)to + g * floats);
    return floats * groups * (int64_t)sizeof(float);
}

void ml_pack_rows_f32(const ml_simd *simd, const float *from, int64_t n, int64_t k, float *to) {
    if (ml_are_few(n, k)) memcpy(to, from, (size_t)(n * k) * sizeof *to);
    else simd->pack_f32(from, n, k, to);
}

void ml_pack_columns_f32(const ml_simd *simd, const float *from, int64_t n, int64_t k, float *to) {
    const int64_t panel = simd->matmul_f32_panel;
    if (ml_are_few(n, k)) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < k; j++) to[i * k + j] = from[j * n + i];
        return;
    }
    for (int64_t i = 0; i < n; i += panel, to += panel * k) {
        const int64_t width = ml_min_s64(panel, n - i);
        for (int64_t j = 0; j < k; j++)
            for (int64_t at = 0; at < panel; at++)
                to[j * panel + at] = at < width ? from[j * n + i + at] : 0.0f;
    }
}

/* Sums to outputs ------------------------------------------------------------------------------ */

ml_requantize_args ml_requantize_args_of(const ml_call *c, const ml_requantized *r, int32_t limit) {
    const ml_weighted *w = c->derived;
    return (ml_requantize_args){
        .sums = r->sums,
        .rows = r->rows,
        .sums_stride = r->n,
        .n = r->n,
        .bias = r->bias ? (const int32_t *)r->bias + r->first : NULL,
        .mantissas = w->reals ? NULL : w->mantissas + r->first,
        .shifts = w->reals ? NULL : w->shifts + r->first,
        .reals = w->reals ? w->reals + r->first : NULL,
        .y = r->y,
        .y_stride = r->y_stride,
        .zero = w->y_zero,
        .low = w->low,
        .high = w->high,
        .limit = limit,
    };
}

void ml_requantize_bytes(const ml_call *c, const ml_requantized *r, int32_t limit) {
    const ml_requantize_args args = ml_requantize_args_of(c, r, limit);
    c->env->simd->requantize(&args);
}

void ml_requantize_s16(const ml_call *c, const ml_requantized *r) {
    const ml_weighted *w = c->derived;
    const int32_t *bias = r->bias ? (const int32_t *)r->bias + r->first : NULL, *sums = r->sums;
    int16_t *y = r->y;
    for (int64_t row = 0; row < r->rows; row++, sums += r->n, y += r->y_stride)
        for (int64_t i = 0; i < r->n; i++) {
            int64_t o = r->first + i;
            int32_t sum = (int32_t)((uint32_t)sums[i] + (bias ? (uint32_t)bias[i] : 0));
            int32_t scaled = ml_multiply_quantized(sum, w->mantissas[o], w->shifts[o]);
            y[i] = (int16_t)ml_clamp_s32((int32_t)((uint32_t)scaled + (uint32_t)w->y_zero), w->low,
                                         w->high);
        }
}

ml_scale_s32_args ml_scaling_of(const ml_call *c, const ml_requantized *r, const float *scales,
                                ml_scaling_order order, float minimum, float maximum) {
    return (ml_scale_s32_args){
        .sums = r->sums,
        .rows = r->rows,
        .sums_stride = r->n,
        .n = r->n,
        .scales = scales,
        .weights = ((const ml_weighted *)c->derived)->scales + r->first,
        .bias = r->bias ? (const float *)r->bias + r->first : NULL,
        .y = r->y,
        .y_stride = r->y_stride,
        .low = minimum,
        .high = maximum,
        .weights_first = order == ML_WEIGHTS_FIRST,
    };
}

void ml_scale_sums(const ml_call *c, const ml_requantized *r, const float *scales,
                   ml_scaling_order order, float minimum, float maximum) {
    const ml_scale_s32_args args = ml_scaling_of(c, r, scales, order, minimum, maximum);
    c->env->simd->scale_s32(&args);
}

void ml_requantize_wide(const ml_call *c, const ml_requantized *r) {
    const ml_weighted *w = c->derived;
    const int64_t *bias = r->bias, *sums = r->sums;
    int16_t *y = r->y;
    for (int64_t row = 0; row < r->rows; row++, sums += r->n, y += r->y_stride)
        for (int64_t i = 0; i < r->n; i++) {
            int64_t o = r->first + i;
            int64_t sum = (int64_t)((uint64_t)sums[i] + (bias ? (uint64_t)bias[o] : 0));
            int32_t scaled = ml_multiply_quantized_s64(sum, w->mantissas[o], w->shifts[o]);
            y[i] = (int16_t)ml_clamp_s32((int32_t)((uint32_t)scaled + (uint32_t)w->y_zero), w->low,
                                         w->high);
        }
}

/* Floats --------------------------------------------------------------------------------------- */

ml_status ml_prepare_floats(const ml_call *c, ml_wish *wish, ml_blocks *b, bool filled) {
    if (b->k > INT64_MAX / 16384)
        return ml_fail(c, ML_SHAPE_ERROR, "rows of %lld values are too long", (long long)b->k);
    int64_t tile = c->env->simd->matmul_f32_rows, row_bytes = b->k * (int64_t)sizeof(float);
    const int64_t outputs = ml_outputs_paid(c->env->simd, b->n, b->k) * b->groups;
    int64_t rows = ml_work_grain(b->rows, (b->k + OUTPUT_COST) * outputs);
    if (filled) rows = ml_min_s64(rows, BLOCK_BYTES / (row_bytes > 0 ? row_bytes : 1));
    rows = rows < 4 * tile ? 4 * tile : ml_round_up(rows, tile);
    b->block = (int32_t)ml_min_s64(b->rows, rows);
    if (filled) wish->worker_bytes = b->block * row_bytes;
    return ML_OK;
}

typedef struct float_args {
    const ml_blocks *blocks;
    const float *rows;
    ml_block_fn *fill;
    int64_t columns; /* outputs of a block: whole panels, or all */
    float low;
    float high;
} float_args;

static ml_status float_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const float_args *a = args;
    const ml_blocks *blocks = a->blocks;
    const ml_simd *simd = c->env->simd;
    const float *bias = ml_in_optional(c, 2), *packed = c->packed;
    int64_t k = blocks->k, n = blocks->n, stride = n * blocks->groups;
    int64_t across = ml_ceil_div(n, a->columns);
    for (int64_t i = first; i < end; i++) {
        ml_block b = {.first = i / across * blocks->block, .rows = ml_worker_scratch(c, worker)};
        b.count = ml_min_s64(blocks->block, blocks->rows - b.first);
        int64_t column = i % across * a->columns;
        /* A block of rows times some columns of each group. */
        for (b.group = 0; b.group < blocks->groups; b.group++) {
            int64_t output = b.group * n + column;
            if (!a->rows) a->fill(c, &b);
            ml_matmul_f32_args product = {
                .a = a->rows ? a->rows + b.first * k : b.rows,
                .rows = b.count,
                .a_stride = k,
                .pieces = 1,
                .k = k,
                .n = ml_min_s64(a->columns, n - column),
                .packed = packed + b.group * ml_weights_f32(simd, n, k) + column * k,
                .bias = bias ? bias + output : NULL,
                .y = (float *)ml_out(c, 0) + b.first * stride + output,
                .y_stride = stride,
                .low = a->low,
                .high = a->high,
                .far = ml_is_far(c),
            };
            ml_multiply_f32(simd, &product);
        }
    }
    return ML_OK;
}

/* The number of columns of a block. Few rows, if all of them lie in memory, are divided by columns;
 * but never so that the last columns would be summed in another order. */
static int64_t columns_of(const ml_blocks *b, bool filled) {
    const int64_t blocks = ml_ceil_div(b->rows, b->block), least = b->block < MANY_ROWS ? 128 : 32;
    if (filled || b->groups > 1 || blocks > 8 || b->n < 2 * least) return b->n;
    int64_t columns =
        least * ml_work_grain(ml_ceil_div(b->n, least), blocks * b->block * b->k * least);
    while (columns < b->n && b->n % columns > 0 && b->n % columns <= ML_FEW_OUTPUTS)
        columns += least;
    return columns;
}

ml_status ml_multiply_floats(const ml_call *c, const ml_blocks *b, const float *rows,
                             ml_block_fn *fill, float minimum, float maximum) {
    float_args args = {b, rows, fill, columns_of(b, !rows), minimum, maximum};
    int64_t blocks = ml_ceil_div(b->rows, b->block) * ml_ceil_div(b->n, args.columns);
    const int64_t outputs = ml_outputs_paid(c->env->simd, ml_min_s64(args.columns, b->n), b->k);
    int64_t cost = b->block * (b->k + OUTPUT_COST) * b->groups * outputs;
    return ml_parallel(c, blocks, ml_work_grain(blocks, cost), float_body, &args);
}
