/* fully_connected.c -- FULLY_CONNECTED: the input as rows of `depth` values, times weights of (outputs, depth). */
#include "math/quantize_row.h"
#include "rules/matmul.h"

#define FC_FIELDS(X, S) X(S, i32, keep_dims) X(S, i32, asymmetric) ML_CLAMP_FIELDS(X, S)
ML_PARAMS(fc_params, FC_FIELDS)

/* The blob is an ml_blocks. */

/* The rows of an input: those of the weights' depth; where that is 0, what all dimensions but the last give. */
static ml_status count_rows(const ml_call *c, int64_t *rows) {
    const fc_params *params = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape, *w = &ml_input(c, 1)->shape;
    char text[96];
    if (w->rank != 2)
        return ml_fail(c, ML_SHAPE_ERROR, "weights must be (outputs, depth), their shape is %s",
                       ml_shape_text(w, text));
    int64_t elements = ml_elements(x), depth = w->dims[1];
    bool last = x->rank > 0 && x->dims[x->rank - 1] == depth;
    if (depth > 0 ? elements < 0 || elements % depth != 0 : elements != 0 || x->rank == 0)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "input of shape %s does not split into rows of the weights' depth %lld",
                       ml_shape_text(x, text), (long long)depth);
    if (params->keep_dims && !last)
        return ml_fail(
            c, ML_SHAPE_ERROR,
            "last dimension of the input's shape %s does not match the weights' depth %lld",
            ml_shape_text(x, text), (long long)depth);
    ml_shape outer = *x;
    outer.rank -= outer.rank > 0;
    *rows = depth > 0 ? elements / depth : ml_elements(&outer);
    if (*rows < 0 || *rows > INT32_MAX)
        return ml_fail(c, ML_SHAPE_ERROR, "input of shape %s has more rows than %d",
                       ml_shape_text(x, text), INT32_MAX);
    return ML_OK;
}

static const ml_integer_rule *integer_rule(const ml_call *c);

/* The shape rule: (rows, outputs), or with keep_dims the input's shape with the last dimension replaced. */
static ml_status prepare_fully_connected(const ml_call *c, ml_wish *wish) {
    const fc_params *params = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape, *w = &ml_input(c, 1)->shape;
    ml_blocks *blocks = c->blob;
    int64_t rows = 0;
    ml_status status = count_rows(c, &rows);
    if (status == ML_OK) status = ml_check_weighted(c, c->derived, w->dims[0]);
    if (status != ML_OK) return status;
    ml_shape y = {2, {(int32_t)rows, w->dims[0]}};
    if (params->keep_dims) {
        y = *x;
        y.dims[y.rank - 1] = w->dims[0];
    }
    status = ml_set_output(c, 0, &y);
    if (status != ML_OK) return status;
    *blocks = (ml_blocks){.rows = rows, .k = w->dims[1], .n = w->dims[0], .groups = 1};
    const ml_integer_rule *rule = integer_rule(c);
    if (!rule) return ml_prepare_floats(c, wish, blocks, false);
    if (ml_input(c, 0)->type == ML_F32) blocks->own_bytes = sizeof(float);
    return ml_prepare_integers(c, wish, blocks, rule);
}

static int64_t pack_f32(const ml_call *c, void *to) { return ml_pack_weights_f32(c, to, 1); }

/* Without depth the outputs are zeros, as in TFLite, whatever the bias. */
static bool is_empty(const ml_call *c) {
    if (((const ml_blocks *)c->blob)->k > 0) return false;
    memset(ml_out(c, 0), 0, (size_t)ml_out_tensor(c, 0)->bytes);
    return true;
}

static ml_status fully_connected_f32(const ml_call *c) {
    if (is_empty(c)) return ML_OK;
    const fc_params *p = c->params;
    return ml_multiply_floats(c, c->blob, NULL, p->minimum, p->maximum);
}

/* Integers: the input widened, and of int16 whose bias is not int32 64-bit sums; one rounding of a double. */

static void widen(const ml_call *c, const ml_block *b) {
    const ml_blocks *blocks = c->blob;
    int64_t k = blocks->k, stride = ml_padded_row(k);
    int32_t type = ml_in_tensor(c, 0)->type;
    int16_t *row = b->rows;
    for (int64_t r = 0; r < b->count; r++, row += stride) {
        int64_t at = (b->first + r) * k;
        if (type == ML_S8) ml_widen_s8((const int8_t *)ml_in(c, 0) + at, k, row);
        else if (type == ML_U8) ml_widen_u8((const uint8_t *)ml_in(c, 0) + at, k, row);
        else if (k > 0) memcpy(row, (const int16_t *)ml_in(c, 0) + at, (size_t)k * sizeof *row);
        memset(row + k, 0, (size_t)(stride - k) * sizeof *row);
    }
}

/* round(sum * multiplier) in float64, ties away from zero, as TFLite's reference kernel does; then zero point and clamp. */
static inline int32_t scale_sum(const ml_weighted *w, double sum, double multiplier) {
    const double just_below_half = 0.49999999999999994;
    double v = sum * multiplier;
    v = v < -1e9 ? -1e9 : v > 1e9 ? 1e9 : v;
    return ml_clamp_s32((int32_t)(v + (v < 0 ? -just_below_half : just_below_half)) + w->y_zero,
                        w->low, w->high);
}

#define FINISH(name, sum_type, bias_type, FIND_BIAS, element)                                      \
    static void finish_##name(const ml_call *c, const ml_block *b) {                               \
        const ml_weighted *w = c->derived;                                                         \
        int64_t n = ((const ml_blocks *)c->blob)->n;                                               \
        const sum_type *sums = b->sums;                                                            \
        const bias_type *bias = FIND_BIAS;                                                         \
        element *y = (element *)ml_out(c, 0) + b->first * n;                                       \
        for (int64_t r = 0; r < b->count; r++, sums += n, y += n)                                  \
            for (int64_t i = 0; i < n; i++) {                                                      \
                bias_type sum = sums[i];                                                           \
                if (bias) __builtin_add_overflow(sum, bias[i], &sum);                              \
                y[i] = (element)scale_sum(w, (double)sum, w->reals[i]);                            \
            }                                                                                      \
    }
/* Of bytes, an output's low byte is the same bits whether it has a sign. */
FINISH(bytes, int32_t, int32_t, b->bias, int8_t)
FINISH(s16, int32_t, int32_t, b->bias, int16_t)
FINISH(wide, int64_t, int64_t, ml_in_optional(c, 2), int16_t)

/* Hybrid: each row of a float input is quantized by itself, sums are scaled back and added to the bias. */

static void quantize(const ml_call *c, const ml_block *b) {
    const ml_blocks *blocks = c->blob;
    int64_t k = blocks->k, stride = ml_padded_row(k);
    bool asymmetric = ((const fc_params *)c->params)->asymmetric;
    float *scales = b->own;
    for (int64_t r = 0; r < b->count; r++) {
        int16_t *row = (int16_t *)b->rows + r * stride;
        scales[r] =
            ml_quantize_row((const float *)ml_in(c, 0) + (b->first + r) * k, k, asymmetric, row);
        memset(row + k, 0, (size_t)(stride - k) * sizeof *row);
    }
}

static void finish_hybrid(const ml_call *c, const ml_block *b) {
    const fc_params *p = c->params;
    int64_t n = ((const ml_blocks *)c->blob)->n;
    ml_requantized r = {
        ml_in_optional(c, 2), b->sums, b->count, 0, n, (float *)ml_out(c, 0) + b->first * n, n};
    ml_scale_sums(c, &r, b->own, ML_SCALES_FIRST, p->minimum, p->maximum);
}

static const ml_integer_rule *integer_rule(const ml_call *c) {
    static const ml_integer_rule bytes = {widen, finish_bytes, .folds = true},
                                 s16 = {widen, finish_s16, .folds = true},
                                 wide = {widen, finish_wide, .wide = true},
                                 hybrid = {quantize, finish_hybrid, .folds = false};
    const ml_tensor *bias = ml_input(c, 2);
    switch (ml_input(c, 0)->type) {
    case ML_F32: return ml_input(c, 1)->type == ML_F32 ? NULL : &hybrid;
    case ML_S16: return bias && bias->type == ML_S32 ? &s16 : &wide;
    default: return &bytes;
    }
}

static ml_status fully_connected_integer(const ml_call *c) {
    if (is_empty(c)) return ML_OK;
    return ml_multiply_integers(c, c->blob, integer_rule(c));
}

#define DERIVE(name, ...)                                                                          \
    static int64_t derive_##name(const ml_call *c, void *to) {                                     \
        static const ml_weighted_rule rule = {__VA_ARGS__};                                        \
        const fc_params *p = c->params; \
        return ml_derive_weighted(c, to, &rule, p->minimum, p->maximum); \
    }
DERIVE(bytes, .multiplier = ML_MULTIPLIER_DOUBLE)
DERIVE(s16, .multiplier = ML_MULTIPLIER_DOUBLE, .symmetric = true)
DERIVE(hybrid, .multiplier = ML_MULTIPLIER_SCALE, .symmetric_weights = true)

static const ml_typed fully_connected[] = {
    {"f32 f32 f32? -> f32", NULL, pack_f32, fully_connected_f32},
    {"f32 s8|s4 f32? -> f32", derive_hybrid, ml_pack_weights_s8, fully_connected_integer},
    {"s8 s8|s4 s32? -> s8", derive_bytes, ml_pack_weights_s8, fully_connected_integer},
    {"u8 u8 s32? -> u8", derive_bytes, ml_pack_weights_s8, fully_connected_integer},
    {"s16 s8|s4 s64|s32? -> s16", derive_s16, ml_pack_weights_s8, fully_connected_integer},
    {NULL, NULL, NULL, NULL},
};

ML_KERNELS(fully_connected) = {
    {.abi = ML_KERNEL_ABI,
     .name = "fully_connected",
     ML_PARAMS_OF(fc_params),
     .blob_bytes = sizeof(ml_blocks),
     .packs = 1,
     .prepare = prepare_fully_connected,
     .typed = fully_connected},
    ML_KERNELS_END,
};
