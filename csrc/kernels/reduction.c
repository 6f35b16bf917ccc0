/* reduction.c -- MEAN over any set of dimensions, known or given at run time.
 *
 * f32: sums in float32, eight side by side along a reduced last dimension, and one division. s32, s64: sums wrap in int64,
 * divided towards 0. 8 and 16 bits: TFLite's QuantizedMeanOrSum: int32 sum less zero points, one requantization (double
 * rounding) by a multiplier that holds 1 / count.
 */
#include "math/fixed_point.h"
#include "rules/values.h"

#define REDUCE_FIELDS(X, S) X(S, i32, keep_dims)
ML_PARAMS(reduce_params, REDUCE_FIELDS)

#define MEAN_QUANTIZED_FIELDS(X, S) \
    X(S, i32, keep_dims) X(S, i32, mantissa) X(S, i32, shift) X(S, i32, input_zero_point) X(S, i32, zero_point)
ML_PARAMS(mean_quantized_params, MEAN_QUANTIZED_FIELDS)

/* The input as runs of dimensions, alternately kept and reduced: rows of the innermost run, and the nest around them. */
typedef struct reduce_blob {
    int64_t row;
    int64_t rows;
    int64_t outputs;
    int64_t count;                   /* input elements per output */
    int64_t dims[ML_MAX_RANK];       /* outer runs, innermost first */
    int64_t stride[ML_MAX_RANK];     /* outputs to step per index of that run, 0 where reduced */
    int32_t n_outer;
    int32_t row_reduced;
} reduce_blob;

/* Reads the axes into a bit mask over the input's dimensions; negative ones count from the end. */
static ml_status read_axes(const ml_call *c, const void *axes, int32_t rank, uint32_t *mask) {
    const ml_tensor *tensor = ml_input(c, 1);
    *mask = 0;
    int64_t axis;
    for (int64_t i = 0; ml_read_index(tensor, axes, i, &axis); i++) {
        if (axis < -rank || axis >= rank) {
            if (rank == 0 && (axis == 0 || axis == -1))
                continue; /* LiteRT lets a scalar be reduced */
            return ml_fail(c, ML_SHAPE_ERROR, "axis %lld is outside rank %d", (long long)axis,
                           rank);
        }
        *mask |= 1u << (axis < 0 ? axis + rank : axis);
    }
    return ML_OK;
}

static void collapse(const ml_shape *x, uint32_t mask, reduce_blob *blob) {
    int64_t sizes[ML_MAX_RANK + 1] = {1};
    bool reduced[ML_MAX_RANK + 1] = {false};
    int32_t n = 0;
    for (int32_t d = x->rank - 1; d >= 0; d--) {
        if (x->dims[d] == 1) continue;
        bool is_reduced = mask >> d & 1;
        if (n > 0 && reduced[n - 1] == is_reduced) sizes[n - 1] *= x->dims[d];
        else sizes[n] = x->dims[d], reduced[n] = is_reduced, n++;
    }
    blob->row = sizes[0];
    blob->row_reduced = reduced[0];
    blob->n_outer = n > 1 ? n - 1 : 0;
    blob->rows = 1;
    int64_t outputs = reduced[0] ? 1 : sizes[0];
    for (int32_t d = 0; d < blob->n_outer; d++) {
        blob->dims[d] = sizes[d + 1];
        blob->stride[d] = reduced[d + 1] ? 0 : outputs;
        blob->rows *= sizes[d + 1];
        if (!reduced[d + 1]) outputs *= sizes[d + 1];
    }
}

/* `sum_bytes` of scratch per output for the sums. */
static ml_status prepare_reduce(const ml_call *c, ml_wish *wish, int32_t keep_dims,
                                int64_t sum_bytes) {
    reduce_blob *blob = c->blob;
    const ml_shape *x = &ml_input(c, 0)->shape;
    const void *axes = ml_value(c, 1);
    if (!axes && ml_elements(&ml_input(c, 1)->shape) > 0) return ml_open_all(wish);
    uint32_t mask = 0;
    ml_status status = axes ? read_axes(c, axes, x->rank, &mask) : ML_OK;
    if (status != ML_OK) return status;
    ml_shape out = {.rank = 0};
    blob->count = 1;
    for (int32_t d = 0; d < x->rank; d++) {
        bool is_reduced = mask >> d & 1;
        if (is_reduced) blob->count *= x->dims[d];
        if (!is_reduced || keep_dims) out.dims[out.rank++] = is_reduced ? 1 : x->dims[d];
    }
    status = ml_set_output(c, 0, &out);
    if (status != ML_OK) return status;
    blob->outputs = ml_elements(&out);
    if (ml_elements(x) > 0) collapse(x, mask, blob);
    wish->scratch_bytes = blob->outputs * sum_bytes;
    return ML_OK;
}

static ml_status prepare_mean_f32(const ml_call *c, ml_wish *wish) {
    return prepare_reduce(c, wish, ((const reduce_params *)c->params)->keep_dims, 0);
}
static ml_status prepare_mean_int(const ml_call *c, ml_wish *wish) {
    return prepare_reduce(c, wish, ((const reduce_params *)c->params)->keep_dims, 8);
}
static ml_status prepare_mean_quantized(const ml_call *c, ml_wish *wish) {
    return prepare_reduce(c, wish, ((const mean_quantized_params *)c->params)->keep_dims, 4);
}

/* The output of the next row; `index` counts along the outer runs. */
static inline int64_t next_output(const reduce_blob *blob, int64_t at, int64_t index[ML_MAX_RANK]) {
    for (int32_t d = 0; d < blob->n_outer; d++) {
        at += blob->stride[d];
        if (++index[d] < blob->dims[d]) return at;
        at -= blob->stride[d] * blob->dims[d];
        index[d] = 0;
    }
    return at;
}

/* Defines name(x, sums, blob): adds the input's rows into `sums`, one per output; unsigned sums wrap. */
#define SUM_ROWS(name, from, wide, sum_type)                                                            \
    static inline void name##_add(sum_type *sum, wide x) { *sum += (sum_type)x; }                       \
    static void name(const from *x, sum_type *sums, const reduce_blob *blob) {                          \
        memset(sums, 0, (size_t)blob->outputs * sizeof *sums);                                          \
        int64_t index[ML_MAX_RANK] = {0}, at = 0;                                                       \
        const int64_t n = blob->row, whole = n & ~(int64_t)7;                                           \
        for (int64_t r = 0; r < blob->rows; r++, x += n, at = next_output(blob, at, index)) {           \
            if (!blob->row_reduced) {                                                                   \
                for (int64_t i = 0; i < n; i++) name##_add(&sums[at + i], x[i]);                        \
                continue;                                                                               \
            }                                                                                           \
            sum_type lanes[8] = {0};                                                                    \
            for (int64_t i = 0; i < whole; i += 8)                                                      \
                for (int k = 0; k < 8; k++) name##_add(&lanes[k], x[i + k]);                            \
            for (int64_t i = whole; i < n; i++) name##_add(&lanes[i - whole], x[i]);                    \
            sums[at] += ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +                               \
                        ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));                                \
        }                                                                                               \
    }
SUM_ROWS(sum_f32, float, float, float)
SUM_ROWS(sum_s32, int32_t, int32_t, uint64_t)
SUM_ROWS(sum_s64, int64_t, int64_t, uint64_t)
SUM_ROWS(sum_s8, int8_t, int32_t, uint32_t)
SUM_ROWS(sum_u8, uint8_t, int32_t, uint32_t)
SUM_ROWS(sum_s16, int16_t, int32_t, uint32_t)

/* The mean of no elements is NaN. */
static ml_status mean_f32(const ml_call *c) {
    const reduce_blob *blob = c->blob;
    float *y = ml_out(c, 0), count = (float)blob->count;
    sum_f32(ml_in(c, 0), y, blob);
    for (int64_t i = 0; i < blob->outputs; i++) y[i] /= count;
    return ML_OK;
}

/* Of no elements 0, as LiteRT's. */
#define MEAN_INT(type)                                                                                  \
    static ml_status mean_##type(const ml_call *c) {                                                    \
        const reduce_blob *blob = c->blob;                                                              \
        C_##type *y = ml_out(c, 0);                                                                     \
        uint64_t *sums = c->scratch;                                                                    \
        sum_##type(ml_in(c, 0), sums, blob);                                                            \
        for (int64_t i = 0; i < blob->outputs; i++)                                                     \
            y[i] = blob->count ? (C_##type)((int64_t)sums[i] / blob->count) : 0;                        \
        return ML_OK;                                                                                   \
    }
#define C_s32 int32_t
#define C_s64 int64_t
MEAN_INT(s32)
MEAN_INT(s64)

/* mantissa * 2^(shift - 31) / count, as QuantizedMeanOrSum derives it. */
static void divide_multiplier(const mean_quantized_params *p, int64_t count, int32_t *mantissa,
                              int32_t *shift) {
    int32_t bits = 63 - __builtin_clzll((uint64_t)count);
    bits = bits > 32 ? 32 : bits;
    bits = bits > 31 + p->shift ? 31 + p->shift : bits;
    *mantissa = (int32_t)(((int64_t)p->mantissa << bits) / count);
    *shift = p->shift - bits;
}

#define MEAN_QUANTIZED(type, to, low, high)                                                             \
    static ml_status mean_##type(const ml_call *c) {                                                    \
        const mean_quantized_params *p = c->params;                                                     \
        const reduce_blob *blob = c->blob;                                                              \
        to *y = ml_out(c, 0);                                                                           \
        if (blob->count == 0) {                                                                         \
            memset(y, 0, (size_t)blob->outputs * sizeof *y);                                            \
            return ML_OK;                                                                               \
        }                                                                                               \
        uint32_t *sums = c->scratch;                                                                    \
        sum_##type(ml_in(c, 0), sums, blob);                                                            \
        int32_t mantissa, shift;                                                                        \
        divide_multiplier(p, blob->count, &mantissa, &shift);                                           \
        const uint32_t offset = (uint32_t)p->input_zero_point * (uint32_t)blob->count;                  \
        for (int64_t i = 0; i < blob->outputs; i++) {                                                   \
            int32_t v = ml_multiply_quantized((int32_t)(sums[i] - offset), mantissa, shift);            \
            y[i] = (to)ml_clamp_s32(v + p->zero_point, low, high);                                      \
        }                                                                                               \
        return ML_OK;                                                                                   \
    }
MEAN_QUANTIZED(s8, int8_t, -128, 127)
MEAN_QUANTIZED(u8, uint8_t, 0, 255)
MEAN_QUANTIZED(s16, int16_t, -32768, 32767)

#define QUANTIZED_ROW(name) \
    ML_KERNEL(#name, mean_quantized_params, sizeof(reduce_blob), 0, prepare_mean_quantized, name)
ML_KERNELS(reduction) = {
    ML_KERNEL("mean_f32", reduce_params, sizeof(reduce_blob), 0, prepare_mean_f32, mean_f32),
    ML_KERNEL("mean_s32", reduce_params, sizeof(reduce_blob), 0, prepare_mean_int, mean_s32),
    ML_KERNEL("mean_s64", reduce_params, sizeof(reduce_blob), 0, prepare_mean_int, mean_s64),
    QUANTIZED_ROW(mean_s8),
    QUANTIZED_ROW(mean_u8),
    QUANTIZED_ROW(mean_s16),
    ML_KERNELS_END,
};
