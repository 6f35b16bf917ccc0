/* fully_connected.c -- FULLY_CONNECTED: the input as rows of `depth` values, times weights of (outputs, depth). */
#include "math/fixed_point.h"
#include "math/matmul.h"
#include "rules/window.h"

/* panels: the packed weights; empty when eval has to pack. */
#define FLOAT_FIELDS(X, S) X(S, i32, keep_dims) X(S, f32, minimum) X(S, f32, maximum) X(S, array, panels)
/* The offset of a tensor is its zero point. multipliers: one double an output. */
#define INTEGER_FIELDS(X, S)                                                                                       \
    X(S, i32, keep_dims) X(S, i32, minimum) X(S, i32, maximum) X(S, i32, input_offset) X(S, i32, filter_offset) \
    X(S, i32, output_offset) X(S, array, multipliers)
ML_PARAMS(fc_float_params, FLOAT_FIELDS)
ML_PARAMS(fc_integer_params, INTEGER_FIELDS)

typedef struct fc_blob {
    int64_t rows;
    int64_t depth;
    int64_t outputs;
    int64_t block; /* rows at a time */
    int64_t sums_offset; /* in scratch, of integer kernels */
    bool pack;
} fc_blob;

/* The shape rule: (rows, outputs), or with keep_dims the input's shape with the last dimension replaced. */
static ml_status prepare_shape(const ml_call *c, bool keep_dims) {
    fc_blob *blob = c->blob;
    const ml_shape *x = &ml_input(c, 0)->shape, *w = &ml_input(c, 1)->shape;
    const ml_tensor *bias = ml_input(c, 2);
    char text[96];
    if (w->rank != 2)
        return ml_fail(c, ML_SHAPE_ERROR, "weights must be (outputs, depth), their shape is %s",
                       ml_shape_text(w, text));
    int32_t depth = w->dims[1], outputs = w->dims[0];
    int64_t elements = ml_elements(x);
    if (depth <= 0 || elements < 0 || elements % depth != 0)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "input of shape %s does not split into rows of the weights' depth %d",
                       ml_shape_text(x, text), depth);
    if (keep_dims && (x->rank == 0 || x->dims[x->rank - 1] != depth))
        return ml_fail(
            c, ML_SHAPE_ERROR,
            "last dimension of the input's shape %s does not match the weights' depth %d",
            ml_shape_text(x, text), depth);
    if (bias && ml_elements(&bias->shape) != outputs)
        return ml_fail(c, ML_SHAPE_ERROR, "bias of %lld values does not match %d outputs",
                       (long long)ml_elements(&bias->shape), outputs);
    if (elements / depth > INT32_MAX)
        return ml_fail(c, ML_SHAPE_ERROR, "%lld rows are more than %d",
                       (long long)(elements / depth), INT32_MAX);
    blob->rows = elements / depth;
    blob->depth = depth;
    blob->outputs = outputs;
    ml_shape y = {2, {(int32_t)blob->rows, outputs}};
    if (keep_dims) {
        y = *x;
        y.dims[y.rank - 1] = outputs;
    }
    return ml_set_output(c, 0, &y);
}

static ml_status prepare_f32(const ml_call *c, ml_wish *wish) {
    const fc_float_params *params = c->params;
    fc_blob *blob = c->blob;
    ml_status status = prepare_shape(c, params->keep_dims);
    if (status != ML_OK) return status;
    int64_t row_bytes = blob->depth * (int64_t)sizeof(float), panels_bytes;
    if (__builtin_mul_overflow(row_bytes, ml_panels_count(blob->outputs) * ML_PANEL, &panels_bytes))
        return ml_fail(c, ML_SHAPE_ERROR, "weights of %lld x %lld are too large",
                       (long long)blob->outputs, (long long)blob->depth);
    blob->block = ml_block_rows(blob->rows, row_bytes);
    blob->pack = params->panels.bytes != panels_bytes;
    if (blob->pack) wish->scratch_bytes = panels_bytes;
    return ML_OK;
}

static ml_status fully_connected_f32(const ml_call *c) {
    const fc_float_params *params = c->params;
    const fc_blob *blob = c->blob;
    const float *x = ml_in(c, 0), *panels = params->panels.data;
    float *y = ml_out(c, 0);
    if (blob->pack) {
        ml_pack_panels_f32(ml_in(c, 1), blob->outputs, blob->depth, c->scratch);
        panels = c->scratch;
    }
    for (int64_t first = 0; first < blob->rows; first += blob->block) {
        ml_matmul_f32_args args = {
            .a = x + first * blob->depth,
            .rows = ml_min_s64(blob->block, blob->rows - first),
            .panels = panels,
            .k = blob->depth,
            .n = blob->outputs,
            .bias = ml_in_optional(c, 2),
            .y = y + first * blob->outputs,
            .y_stride = blob->outputs,
            .low = params->minimum,
            .high = params->maximum,
        };
        ml_matmul_f32(&args);
    }
    return ML_OK;
}

static ml_status prepare_integer(const ml_call *c, ml_wish *wish) {
    const fc_integer_params *params = c->params;
    fc_blob *blob = c->blob;
    ml_status status = prepare_shape(c, params->keep_dims);
    if (status != ML_OK) return status;
    if (params->multipliers.bytes != blob->outputs * (int64_t)sizeof(double))
        return ml_fail(c, ML_SHAPE_ERROR, "%lld scales do not match %lld outputs",
                       (long long)(params->multipliers.bytes / (int64_t)sizeof(double)),
                       (long long)blob->outputs);
    int64_t row_bytes = blob->depth * (int64_t)sizeof(int16_t);
    blob->block = ml_block_rows(blob->rows, row_bytes);
    blob->sums_offset = (blob->block * row_bytes + 63) / 64 * 64;
    wish->scratch_bytes =
        blob->sums_offset + blob->block * blob->outputs * (int64_t)sizeof(int32_t);
    return ML_OK;
}

/* round(sum * multiplier) in float64, ties away from zero, as TFLite's reference kernel does; then zero point and clamp. */
static inline int32_t requantize(const fc_integer_params *p, int32_t sum, double multiplier) {
    const double just_below_half = 0.49999999999999994;
    double v = sum * multiplier;
    v = v < -1e9 ? -1e9 : v > 1e9 ? 1e9 : v;
    return ml_clamp_s32((int32_t)(v + (v < 0 ? -just_below_half : just_below_half)) +
                            p->output_offset,
                        p->minimum, p->maximum);
}

/* s8 and u8; an output's low byte is the same bits in both. */
static inline ml_status fully_connected_integer(const ml_call *c, const bool is_signed) {
    const fc_integer_params *params = c->params;
    const fc_blob *blob = c->blob;
    const int32_t *bias = ml_in_optional(c, 2);
    const double *multipliers = params->multipliers.data;
    int16_t *rows = c->scratch, offset = (int16_t)params->input_offset;
    int32_t *sums = (int32_t *)((char *)c->scratch + blob->sums_offset);
    int8_t *y = ml_out(c, 0);
    int64_t k = blob->depth, n = blob->outputs;
    for (int64_t first = 0; first < blob->rows; first += blob->block) {
        int64_t count = ml_min_s64(blob->block, blob->rows - first);
        if (is_signed) {
            ml_widen_s8((const int8_t *)ml_in(c, 0) + first * k, count * k, offset, rows);
            ml_matmul_s16s8(rows, count, ml_in(c, 1), k, n, sums);
        } else {
            ml_widen_u8((const uint8_t *)ml_in(c, 0) + first * k, count * k, offset, rows);
            ml_matmul_s16u8(rows, count, ml_in(c, 1), k, n, sums);
        }
        if (params->filter_offset)
            ml_subtract_weight_offset(rows, count, k, params->filter_offset, n, sums);
        for (int64_t r = 0; r < count; r++)
            for (int64_t i = 0; i < n; i++) {
                uint32_t sum = (uint32_t)sums[r * n + i] + (bias ? (uint32_t)bias[i] : 0);
                y[(first + r) * n + i] = (int8_t)requantize(params, (int32_t)sum, multipliers[i]);
            }
    }
    return ML_OK;
}

static ml_status fully_connected_s8(const ml_call *c) { return fully_connected_integer(c, true); }
static ml_status fully_connected_u8(const ml_call *c) { return fully_connected_integer(c, false); }

ML_KERNELS(fully_connected) = {
    ML_KERNEL("fully_connected_s8", fc_integer_params, sizeof(fc_blob), 0, prepare_integer,
              fully_connected_s8),
    ML_KERNEL("fully_connected_u8", fc_integer_params, sizeof(fc_blob), 0, prepare_integer,
              fully_connected_u8),
    ML_KERNEL("fully_connected_f32", fc_float_params, sizeof(fc_blob), 0, prepare_f32,
              fully_connected_f32),
    ML_KERNELS_END,
};
