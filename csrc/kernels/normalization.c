/* normalization.c -- L2_NORMALIZATION and odml.rms_norm along the last dimension,
 * LOCAL_RESPONSE_NORMALIZATION along the channels.
 *
 * Bytes: the reciprocal square root of an int32 sum of squares, by five Newton steps in fixed point
 * (TFLite's GetInvSqrtQuantizedMultiplierExp); an output of scale 1 / 128. */
#include <math.h>

#include "rules/checks.h"
#include "rules/elementwise.h"
#include "rules/quantized.h"
#include "rules/values.h"
#include "rules/work.h"
#include "simd/simd.h"

#define RESPONSE_FIELDS(X, S) X(S, i32, radius) X(S, f32, bias) X(S, f32, alpha) X(S, f32, beta)
ML_PARAMS(response_params, RESPONSE_FIELDS)
ML_PARAMS(l2_params, ML_CLAMP_FIELDS)
#define RMS_FIELDS(X, S) X(S, f32, epsilon, ML_NUMBER("epsilon"))
ML_PARAMS(rms_params, RMS_FIELDS)

typedef struct rows_blob {
    int64_t rows;
    int64_t depth;
} rows_blob;

static ml_status prepare_rows(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    rows_blob *blob = c->blob;
    if (x->rank < 1) return ml_fail(c, ML_SHAPE_ERROR, "the input is a scalar");
    blob->rows = ml_elements_of(x, 0, x->rank - 1);
    blob->depth = x->dims[x->rank - 1];
    return ml_set_output(c, 0, x);
}

/* Defines eval `name`: name##_rows, which is defined after it, over the rows in blocks. */
#define BY_ROWS(name)                                                                    \
    static ml_status name##_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker, \
                                 void *args);                                            \
    static ml_status name(const ml_call *c) {                                            \
        const rows_blob *b = c->blob;                                                    \
        return ml_in_blocks(c, b->rows, b->depth, name##_rows, NULL);                    \
    }                                                                                    \
    static ml_status name##_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker, \
                                 void *args)

BY_ROWS(l2_f32) {
    const rows_blob *b = c->blob;
    const l2_params *p = c->params;
    float norm;
    ml_fold_f32_args squares = {.x = (const float *)ml_in(c, 0) + first * b->depth,
                                .y = &norm,
                                .n = b->depth,
                                .rows = 1,
                                .function = ML_FOLD_SQUARES};
    ml_zip_f32_args quotient = {.b = &norm,
                                .y = (float *)ml_out(c, 0) + first * b->depth,
                                .n = b->depth,
                                .rows = 1,
                                .function = ML_ZIP_DIV,
                                .kind = ML_ZIP_SCALAR_B,
                                .low = p->minimum,
                                .high = p->maximum};
    for (int64_t r = first; r < end; r++, squares.x += b->depth, quotient.y += b->depth) {
        norm = 0.0f;
        c->env->simd->fold_f32(&squares);
        norm = sqrtf(norm);
        norm = norm < 1e-6f ? 1e-6f : norm;
        quotient.a = squares.x;
        c->env->simd->zip_f32(&quotient);
    }
    return ML_OK;
}

/* x * 2^exponent, saturating. */
static int32_t shifted(int32_t x, int32_t exponent) {
    const int64_t v = (int64_t)x * ((int64_t)1 << exponent);
    return (int32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

static void inverse_root(int32_t sum, int32_t *mantissa, int32_t *shift) {
    *mantissa = INT32_MAX;
    *shift = 0;
    if (sum <= 1) return;
    int32_t right = 11;
    for (; sum >= 1 << 29; right++) sum /= 4;
    const int32_t pairs = (__builtin_clz((uint32_t)sum) - 1) / 2 - 1;
    right -= pairs;
    sum <<= 2 * pairs;
    /* 3 integer bits: 1.5 is 3 << 27. */
    const int32_t half = ml_rounding_shift_right(sum >> 1, 1), three_halves = 3 << 27;
    int32_t x = 1 << 28;
    for (int i = 0; i < 5; i++) {
        const int32_t cube = shifted(ml_doubling_high_mul(ml_doubling_high_mul(x, x), x), 6);
        x = shifted(ml_doubling_high_mul(three_halves, x) - ml_doubling_high_mul(half, cube), 3);
    }
    *mantissa = ml_doubling_high_mul(x, 1518500250); /* sqrt(2) / 2 */
    if (right < 0) *mantissa <<= -right;
    *shift = right < 0 ? 0 : -right;
}

static int64_t derive_zero(const ml_call *c, void *to) {
    if (to) *(ml_affine *)to = ml_input_affine(c, 0);
    return (int64_t)sizeof(ml_affine);
}

/* Outputs have steps of 1 / 128: the factor 128 is in the integer for u8, in the multiplier for s8.
 * For a row of at least as many elements as there are byte values, the results of all byte values
 * are computed first. */
#define L2_BYTES(suffix, type, FACTOR, MORE, ZERO, LEAST, MOST)                          \
    BY_ROWS(l2_##suffix) {                                                               \
        const rows_blob *b = c->blob;                                                    \
        const int64_t n = b->depth;                                                      \
        const int32_t zero = ((const ml_affine *)c->derived)->zero_point;                \
        const type *x = (const type *)ml_in(c, 0) + first * n;                           \
        type *y = (type *)ml_out(c, 0) + first * n;                                      \
        type all[256], found[256];                                                       \
        for (int i = 0; i < 256; i++) all[i] = (type)i;                                  \
        for (int64_t r = first; r < end; r++, x += n, y += n) {                          \
            const type *from = n < 256 ? x : all;                                        \
            type *to = n < 256 ? y : found;                                              \
            uint32_t sum = 0;                                                            \
            int32_t mantissa, shift;                                                     \
            for (int64_t i = 0; i < n; i++)                                              \
                sum += (uint32_t)((x[i] - zero) * (x[i] - zero));                        \
            inverse_root((int32_t)sum, &mantissa, &shift);                               \
            for (int64_t i = 0; i < ml_min_s64(n, 256); i++) {                           \
                const int32_t v =                                                        \
                    ml_multiply_quantized((FACTOR) * (from[i] - zero), mantissa, shift + (MORE)); \
                to[i] = (type)ml_clamp_s32(v + (ZERO), LEAST, MOST);                     \
            }                                                                            \
            if (n >= 256)                                                                \
                c->env->simd->lookup_u8((const uint8_t *)found, NULL, (const uint8_t *)x, n, \
                                        (uint8_t *)y);                                   \
        }                                                                                \
        return ML_OK;                                                                    \
    }
L2_BYTES(u8, uint8_t, 128, 0, 128, 0, UINT8_MAX)
L2_BYTES(s8, int8_t, 1, 7, 0, INT8_MIN, INT8_MAX)

enum { CHANNELS = 64, STEPS = 64 };

/* Writes to y the sums of the squares of `radius` channels on either side of each one, in ascending
 * order: of some channels at a time, neighbour by neighbour; outside of a row are zeros. */
static void sum_squares(const float *x, float *y, int64_t depth, int64_t radius) {
    for (int64_t at = 0; at < depth; at += CHANNELS) {
        const int64_t n = ml_min_s64(depth - at, CHANNELS);
        float sums[CHANNELS] = {0};
        for (int64_t from = at - radius; from <= at + radius; from += STEPS) {
            const int64_t steps = ml_min_s64(STEPS, at + radius + 1 - from);
            const int64_t first = ml_max_s64(from, 0), end = ml_min_s64(depth, from + n + steps);
            float squares[CHANNELS + STEPS] = {0};
            for (int64_t i = first; i < end; i++) squares[i - from] = x[i] * x[i];
            for (int64_t k = 0; k < steps; k++)
                for (int64_t j = 0; j < CHANNELS; j++) sums[j] += squares[k + j];
        }
        memcpy(y + at, sums, (size_t)n * sizeof *y);
    }
}

/* Roots and quotients take much less time than powers. */
BY_ROWS(response_f32) {
    const response_params p = *(const response_params *)c->params;
    const int64_t depth = ((const rows_blob *)c->blob)->depth;
    const int64_t radius = ml_min_s64(p.radius, depth);
    const float *x = (const float *)ml_in(c, 0) + first * depth;
    float *y = (float *)ml_out(c, 0) + first * depth;
    for (int64_t r = first; r < end; r++, x += depth, y += depth) {
        sum_squares(x, y, depth, radius);
        for (int64_t i = 0; i < depth; i++) y[i] = p.bias + p.alpha * y[i];
        if (p.beta == 0.5f)
            for (int64_t i = 0; i < depth; i++) y[i] = x[i] / sqrtf(y[i]);
        else if (p.beta == 1.0f)
            for (int64_t i = 0; i < depth; i++) y[i] = x[i] / y[i];
        else
            for (int64_t i = 0; i < depth; i++) y[i] = x[i] * powf(y[i], -p.beta);
    }
    return ML_OK;
}

static ml_status check_l2(const ml_call *c, void *params) {
    const int32_t type = ml_input(c, 0)->type;
    return type == ML_F32 ? ML_OK : ml_check_output(c, 1.0 / 128, type == ML_U8 ? 128 : 0);
}

/* odml.rms_norm: x / sqrt(mean of x^2 + epsilon), times a factor for each channel. */

static ml_status prepare_rms(const ml_call *c, ml_wish *wish) {
    const ml_tensor *gamma = ml_input(c, 1);
    const ml_status status = prepare_rows(c, wish);
    const int64_t depth = ((const rows_blob *)c->blob)->depth;
    if (status != ML_OK || !gamma) return status;
    if (gamma->shape.rank == 1 && gamma->shape.dims[0] == depth) return ML_OK;
    char text[96];
    return ml_fail(
        c, ML_SHAPE_ERROR,
        "rows have %lld values, the factors have shape %s: there must be one factor per value",
        (long long)depth, ml_shape_text(&gamma->shape, text));
}

BY_ROWS(rms_f32) {
    const rows_blob *b = c->blob;
    const float epsilon = ((const rms_params *)c->params)->epsilon;
    const ml_simd *simd = c->env->simd;
    const float *x = (const float *)ml_in(c, 0) + first * b->depth;
    float *y = (float *)ml_out(c, 0) + first * b->depth, sum, factor;
    ml_fold_f32_args squares = {.y = &sum, .n = b->depth, .rows = 1, .function = ML_FOLD_SQUARES};
    ml_zip_f32_args product = {.b = &factor,
                               .n = b->depth,
                               .rows = 1,
                               .function = ML_ZIP_MUL,
                               .kind = ML_ZIP_SCALAR_B,
                               .low = -INFINITY,
                               .high = INFINITY};
    for (int64_t row = first; row < end; row++, x += b->depth, y += b->depth) {
        sum = 0.0f;
        squares.x = product.a = x;
        product.y = y;
        simd->fold_f32(&squares);
        factor = 1.0f / sqrtf(sum / (float)b->depth + epsilon);
        simd->zip_f32(&product);
    }
    y = (float *)ml_out(c, 0) + first * b->depth;
    const ml_zip_f32_args scaled = {.a = y,
                                    .b = ml_in_optional(c, 1),
                                    .y = y,
                                    .n = b->depth,
                                    .rows = end - first,
                                    .a_row = b->depth,
                                    .function = ML_ZIP_MUL,
                                    .low = -INFINITY,
                                    .high = INFINITY};
    if (scaled.b) simd->zip_f32(&scaled);
    return ML_OK;
}

/* Converters keep the last factor in the decomposition. */
static ml_status check_rms(const ml_call *c, void *params) {
    const double epsilon = (double)((const rms_params *)params)->epsilon;
    const ml_shape *x = &ml_input(c, 0)->shape;
    const ml_tensor *gamma = ml_input(c, 1);
    if (x->rank < 1 || !(epsilon >= 0.0))
        return ml_fail(c, ML_UNSUPPORTED,
                       "the input has rank %d and epsilon is %g: they must be at least 1 and 0",
                       x->rank, epsilon);
    const int32_t depth = x->dims[x->rank - 1];
    const double known[] = {epsilon, depth, 1.0 / depth, 0.0, 0.5, -0.5, 1.0, -1.0, 2.0};
    if (gamma && (gamma->shape.rank != 1 || gamma->shape.dims[0] != depth))
        return ml_fail(c, ML_UNSUPPORTED,
                       "there must be one factor for each of the %d values of a row", depth);
    return ml_check_decomposition(c, known, (int)(sizeof known / sizeof known[0]));
}

ML_KERNELS(normalization) = {
    {ML_CUSTOM_OP("odml.rms_norm", 1, 1), .name = "rms_norm", .takes = "x gamma? -> y",
     .check = check_rms, ML_PARAMS_OF(rms_params), .blob_bytes = sizeof(rows_blob),
     .prepare = prepare_rms, ML_TYPED({"f32 f32? -> f32", NULL, NULL, rms_f32})},
    {ML_OP(L2_NORMALIZATION, 1, 2), .name = "l2_normalization", .takes = "x -> y",
     .quantization = ML_TAKES_QUANTIZED, .check = check_l2, ML_PARAMS_OF(l2_params),
     .blob_bytes = (int32_t)sizeof(rows_blob), .prepare = prepare_rows, .window = ml_cut_pixels,
     ML_TYPED({"f32 -> f32", NULL, NULL, l2_f32}, {"u8 -> u8", derive_zero, NULL, l2_u8},
              {"s8 -> s8", derive_zero, NULL, l2_s8})},
    {ML_OP(LOCAL_RESPONSE_NORMALIZATION, 1, 1), .name = "local_response_normalization",
     .takes = "x -> y", ML_PARAMS_OF(response_params), .blob_bytes = (int32_t)sizeof(rows_blob),
     .prepare = prepare_rows, .window = ml_cut_pixels,
     ML_TYPED({"f32 -> f32", NULL, NULL, response_f32})},
    ML_KERNELS_END,
};
