/* conv.c -- CONV_2D: blocks of output pixels have their windows gathered into rows, which are multiplied with the weights.
 * Filters are (outputs, height, width, depth); a depth that divides the input's makes a grouped convolution. */
#include "math/fixed_point.h"
#include "math/matmul.h"
#include "rules/window.h"

#define WINDOW_FIELDS(X, S) \
    X(S, i32, same) X(S, i32, stride_h) X(S, i32, stride_w) X(S, i32, dilation_h) X(S, i32, dilation_w)
/* panels: the packed weights of `groups` groups; empty when eval has to pack. */
#define FLOAT_FIELDS(X, S) \
    WINDOW_FIELDS(X, S) X(S, f32, minimum) X(S, f32, maximum) X(S, i32, groups) X(S, array, panels)
/* The offset of an input or filter is its zero point. mantissas, shifts: one int32 an output. padded: constant weights with
 * rows of ml_padded_row elements; empty when eval has to pad. */
#define INTEGER_FIELDS(X, S)                                                                                     \
    WINDOW_FIELDS(X, S) X(S, i32, minimum) X(S, i32, maximum) X(S, i32, input_offset) X(S, i32, filter_offset) \
    X(S, i32, output_offset) X(S, array, mantissas) X(S, array, shifts) X(S, array, padded)
/* What all kernels' parameters begin with. */
typedef struct window_params {
    WINDOW_FIELDS(ML_MEMBER, window_params)
} window_params;
ML_PARAMS(conv_float_params, FLOAT_FIELDS)
ML_PARAMS(conv_integer_params, INTEGER_FIELDS)

typedef struct conv_blob {
    ml_window window;
    int64_t pixels; /* of the output, all batches */
    int64_t k; /* elements of a window: height * width * depth */
    int64_t depth; /* channels of a group */
    int64_t groups;
    int64_t outputs; /* of a group */
    int64_t stride; /* from row to row of an integer matrix, >= k */
    int64_t block; /* pixels gathered at a time */
    int64_t rows_offset; /* in scratch */
    int64_t sums_offset;
    bool direct; /* the input's pixels are the rows */
    bool pack; /* weights are packed by eval, at the start of scratch */
} conv_blob;

static ml_status prepare_window(const ml_call *c, const window_params *params) {
    conv_blob *blob = c->blob;
    const ml_shape *x = &ml_input(c, 0)->shape, *w = &ml_input(c, 1)->shape;
    const ml_tensor *bias = ml_input(c, 2);
    char text[96];
    if (w->rank != 4)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "filter must be (outputs, height, width, depth), its shape is %s",
                       ml_shape_text(w, text));
    ml_window *window = &blob->window;
    window->y = (ml_window_axis){
        .size = w->dims[1], .stride = params->stride_h, .dilation = params->dilation_h};
    window->x = (ml_window_axis){
        .size = w->dims[2], .stride = params->stride_w, .dilation = params->dilation_w};
    ml_status status = ml_window_prepare(c, window, x, params->same);
    if (status != ML_OK) return status;
    ml_shape one = {3, {w->dims[1], w->dims[2], w->dims[3]}};
    blob->k = ml_elements(&one);
    blob->depth = w->dims[3];
    if (blob->k < 0)
        return ml_fail(c, ML_SHAPE_ERROR, "a filter of %s has more elements than an int64 counts",
                       ml_shape_text(&one, text));
    if (blob->depth <= 0 || x->dims[3] <= 0 || x->dims[3] % w->dims[3] != 0)
        return ml_fail(c, ML_SHAPE_ERROR, "filter depth %d does not match input depth %d",
                       w->dims[3], x->dims[3]);
    blob->groups = x->dims[3] / w->dims[3];
    if (w->dims[0] % blob->groups != 0)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "%d outputs do not split into %lld groups (input depth %d, filter depth %d)",
                       w->dims[0], (long long)blob->groups, x->dims[3], w->dims[3]);
    if (bias && ml_elements(&bias->shape) != w->dims[0])
        return ml_fail(c, ML_SHAPE_ERROR, "bias of %lld values does not match %d outputs",
                       (long long)ml_elements(&bias->shape), w->dims[0]);
    blob->outputs = w->dims[0] / blob->groups;
    ml_shape y = {4, {x->dims[0], (int32_t)window->y.out, (int32_t)window->x.out, w->dims[0]}};
    status = ml_set_output(c, 0, &y);
    blob->pixels = window->batches * window->y.out * window->x.out;
    return status;
}

static ml_status prepare_conv_f32(const ml_call *c, ml_wish *wish) {
    const conv_float_params *params = c->params;
    conv_blob *blob = c->blob;
    ml_status status = prepare_window(c, c->params);
    if (status != ML_OK) return status;
    const ml_window *w = &blob->window;
    int64_t row_bytes, panels_bytes;
    if (__builtin_mul_overflow(blob->k, (int64_t)sizeof(float), &row_bytes) ||
        __builtin_mul_overflow(row_bytes, ml_panels_count(blob->outputs) * ML_PANEL * blob->groups,
                               &panels_bytes) ||
        row_bytes > INT64_MAX / 4096 || panels_bytes > INT64_MAX / 4)
        return ml_fail(c, ML_SHAPE_ERROR, "windows of %lld elements are too large",
                       (long long)blob->k);
    blob->pack = params->groups != blob->groups || params->panels.bytes != panels_bytes;
    blob->direct = blob->groups == 1 && w->y.size == 1 && w->x.size == 1 && w->y.stride == 1 &&
                   w->x.stride == 1;
    blob->block = ml_block_rows(blob->pixels, row_bytes);
    if (blob->pack) ml_reserve(wish, panels_bytes);
    if (!blob->direct) blob->rows_offset = ml_reserve(wish, blob->block * row_bytes);
    return ML_OK;
}

static ml_status conv_2d_f32(const ml_call *c) {
    const conv_float_params *params = c->params;
    const conv_blob *blob = c->blob;
    const float *x = ml_in(c, 0), *w = ml_in(c, 1), *bias = ml_in_optional(c, 2),
                *panels = params->panels.data;
    float *y = ml_out(c, 0), *rows = (float *)((char *)c->scratch + blob->rows_offset);
    int64_t panels_floats = ml_panels_count(blob->outputs) * ML_PANEL * blob->k;
    if (blob->pack) {
        for (int64_t g = 0; g < blob->groups; g++)
            ml_pack_panels_f32(w + g * blob->outputs * blob->k, blob->outputs, blob->k,
                               (float *)c->scratch + g * panels_floats);
        panels = c->scratch;
    }
    int64_t y_stride = blob->outputs * blob->groups;
    for (int64_t first = 0; first < blob->pixels; first += blob->block) {
        int64_t count = ml_min_s64(blob->block, blob->pixels - first);
        for (int64_t g = 0; g < blob->groups; g++) {
            if (!blob->direct)
                ml_window_gather_f32(&blob->window, x, g * blob->depth, blob->depth, first, count,
                                     rows);
            ml_matmul_f32_args args = {
                .a = blob->direct ? x + first * blob->k : rows,
                .rows = count,
                .panels = panels + g * panels_floats,
                .k = blob->k,
                .n = blob->outputs,
                .bias = bias ? bias + g * blob->outputs : NULL,
                .y = y + first * y_stride + g * blob->outputs,
                .y_stride = y_stride,
                .low = params->minimum,
                .high = params->maximum,
            };
            ml_matmul_f32(&args);
        }
    }
    return ML_OK;
}

static ml_status prepare_conv_integer(const ml_call *c, ml_wish *wish) {
    const conv_integer_params *params = c->params;
    conv_blob *blob = c->blob;
    ml_status status = prepare_window(c, c->params);
    if (status != ML_OK) return status;
    int64_t outputs = blob->outputs * blob->groups, row_bytes;
    if (params->mantissas.bytes != outputs * (int64_t)sizeof(int32_t))
        return ml_fail(c, ML_SHAPE_ERROR, "%lld scales do not match %lld outputs",
                       (long long)(params->mantissas.bytes / (int64_t)sizeof(int32_t)),
                       (long long)outputs);
    if (blob->k > INT64_MAX / 16384)
        return ml_fail(c, ML_SHAPE_ERROR, "windows of %lld elements are too large",
                       (long long)blob->k);
    blob->stride = ml_padded_row(blob->k);
    blob->pack = params->padded.bytes != outputs * blob->stride;
    row_bytes = blob->stride * (int64_t)sizeof(int16_t);
    if (blob->pack) ml_reserve(wish, outputs * blob->stride);
    blob->block = ml_block_rows(blob->pixels, row_bytes + blob->outputs * (int64_t)sizeof(int32_t));
    blob->rows_offset = ml_reserve(wish, blob->block * row_bytes);
    blob->sums_offset = ml_reserve(wish, blob->block * blob->outputs * (int64_t)sizeof(int32_t));
    return ML_OK;
}

/* s8 and u8; an output's low byte is the same bits in both. */
static inline ml_status conv_integer(const ml_call *c, const bool is_signed) {
    const conv_integer_params *params = c->params;
    const conv_blob *blob = c->blob;
    const void *x = ml_in(c, 0);
    const int8_t *w = params->padded.data;
    ml_requantizer to_output = {ml_in_optional(c, 2),  params->mantissas.data, params->shifts.data,
                                params->output_offset, params->minimum,        params->maximum};
    int16_t *rows = (int16_t *)((char *)c->scratch + blob->rows_offset);
    int32_t *sums = (int32_t *)((char *)c->scratch + blob->sums_offset);
    int8_t *y = ml_out(c, 0);
    int64_t n = blob->outputs, k = blob->stride, depth = blob->depth;
    if (blob->pack) {
        ml_pad_rows(ml_in(c, 1), n * blob->groups, blob->k, c->scratch);
        w = c->scratch;
    }
    for (int64_t first = 0; first < blob->pixels; first += blob->block) {
        int64_t count = ml_min_s64(blob->block, blob->pixels - first);
        for (int64_t g = 0; g < blob->groups; g++) {
            if (is_signed) {
                ml_window_gather_s8(&blob->window, x, g * depth, depth, first, count,
                                    params->input_offset, k, rows);
                ml_matmul_s16s8(rows, count, w + g * n * k, k, n, sums);
            } else {
                ml_window_gather_u8(&blob->window, x, g * depth, depth, first, count,
                                    params->input_offset, k, rows);
                ml_matmul_s16u8(rows, count, (const uint8_t *)w + g * n * k, k, n, sums);
            }
            if (params->filter_offset)
                ml_subtract_weight_offset(rows, count, k, params->filter_offset, n, sums);
            for (int64_t r = 0; r < count; r++)
                ml_requantize(&to_output, sums + r * n, g * n, n,
                              y + ((first + r) * blob->groups + g) * n);
        }
    }
    return ML_OK;
}

static ml_status conv_2d_s8(const ml_call *c) { return conv_integer(c, true); }
static ml_status conv_2d_u8(const ml_call *c) { return conv_integer(c, false); }

ML_KERNELS(conv) = {
    ML_KERNEL("conv_2d_f32", conv_float_params, sizeof(conv_blob), 0, prepare_conv_f32,
              conv_2d_f32),
    ML_KERNEL("conv_2d_s8", conv_integer_params, sizeof(conv_blob), 0, prepare_conv_integer,
              conv_2d_s8),
    ML_KERNEL("conv_2d_u8", conv_integer_params, sizeof(conv_blob), 0, prepare_conv_integer,
              conv_2d_u8),
    /* int16 with int8 weights: shapes here, arithmetic in numpy. */
    ML_KERNEL("conv_2d_s16", conv_integer_params, sizeof(conv_blob), 0, prepare_conv_integer, NULL),
    ML_KERNELS_END,
};
