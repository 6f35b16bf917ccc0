/* fully_connected.c -- FULLY_CONNECTED: the input as rows of `depth` values, times weights of
 * (outputs, depth). */
#include "core/hash.h"
#include "math/loops.h"
#include "rules/blockwise.h"
#include "rules/matmul_s8.h"
#include "rules/nibbles.h"
#include "rules/products.h"

#define FC_FIELDS(X, S)                                             \
    X(S, i32, keep_dims, ML_OPTION("keep_num_dims"))                \
    X(S, i32, asymmetric, ML_OPTION("asymmetric_quantize_inputs"))  \
    X(S, i32, block, ML_BY_CHECK) X(S, array, scales, ML_BY_CHECK)  \
    X(S, i32, layout, ML_BY_CHECK) /* a hash of block and scales */ \
    ML_CLAMP_FIELDS(X, S)
ML_PARAMS(fc_params, FC_FIELDS)

/* The blob is an ml_blocks. */

/* The number of rows of an input, each as long as the weights' depth. If that is 0, it is the
 * product of all dimensions but the last. */
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

static ml_status check_blocks(const ml_call *c) {
    const fc_params *p = c->params;
    const ml_shape *w = &ml_input(c, 1)->shape;
    const int64_t n = w->dims[0], k = w->dims[1], count = p->scales.bytes / (int64_t)sizeof(float);
    if (p->block == 0 || (k % p->block == 0 && n * (k / p->block) == count)) return ML_OK;
    return ml_fail(
        c, ML_SHAPE_ERROR,
        "%lld rows of %lld weights do not make whole blocks of %d, of which %lld have a scale",
        (long long)n, (long long)k, p->block, (long long)count);
}

static const ml_integer_rule *integer_rule(const ml_call *c);

/* The shape rule: (rows, outputs), or with keep_dims the input's shape with the last dimension
 * replaced. */
static ml_status prepare_fully_connected(const ml_call *c, ml_wish *wish) {
    const fc_params *params = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape, *w = &ml_input(c, 1)->shape;
    ml_blocks *blocks = c->blob;
    int64_t rows = 0;
    ml_status status = count_rows(c, &rows);
    if (status == ML_OK) status = check_blocks(c);
    if (status == ML_OK)
        status = ml_check_weighted(c, params->block ? NULL : c->derived, w->dims[0]);
    if (status != ML_OK) return status;
    ml_shape y = {2, {(int32_t)rows, w->dims[0]}};
    if (params->keep_dims) {
        y = *x;
        y.dims[y.rank - 1] = w->dims[0];
    }
    status = ml_set_output(c, 0, &y);
    if (status != ML_OK) return status;
    /* The product, by weights in blocks, floats or integers. */
    *blocks = (ml_blocks){.rows = rows, .k = w->dims[1], .n = w->dims[0], .groups = 1};
    wish->layout = params->layout;
    if (params->block) return ml_prepare_block_weights(c, wish, blocks);
    const ml_integer_rule *rule = integer_rule(c);
    if (!rule) return ml_prepare_floats(c, wish, blocks, false);
    ml_integers product = ml_integers_of(blocks, ml_input(c, 0)->type);
    if (ml_keeps_nibbles(c, blocks->k)) {
        ml_prepare_nibbles(c, wish, &product, rule);
        return ML_OK;
    }
    status = ml_prepare_integers(c, wish, &product, rule);
    blocks->block = (int32_t)product.block;
    return status;
}

/* The output keeps the shape of the image: each pixel needs that pixel alone. */
static bool window_of_fully_connected(const ml_call *c, ml_rectangle *out, ml_rectangle *in,
                                      void *params) {
    const ml_shape *x = &ml_input(c, 0)->shape, *w = &ml_input(c, 1)->shape;
    const bool hybrid = ml_input(c, 0)->type == ML_F32 && ml_input(c, 1)->type != ML_F32;
    in[0] = *out;
    return x->rank == 4 && ml_output(c, 0)->shape.rank == 4 && x->dims[3] == w->dims[1] && !hybrid;
}

/* Weights in blocks have parameters of their own each. */
static int64_t reads_fully_connected(const ml_call *c) {
    return ((const fc_params *)c->params)->block ? 0 : ml_reads_weighted(c);
}

static ml_integers product_of(const ml_call *c) {
    return ml_integers_of(c->blob, ml_input(c, 0)->type);
}

static int64_t pack_f32(const ml_call *c, void *to) { return ml_pack_weights_f32(c, to, 1); }
static ml_block_weights weights_in_blocks(const ml_call *c) {
    const fc_params *p = c->params;
    const ml_blocks *b = c->blob;
    return (ml_block_weights){b->n, b->k, p->block, ml_weights_type(c), p->scales.data};
}
static int64_t pack_s8(const ml_call *c, void *to) {
    if (((const fc_params *)c->params)->block) {
        const ml_block_weights weights = weights_in_blocks(c);
        return ml_pack_block_weights(c, to, &weights);
    }
    const ml_integers product = product_of(c);
    if (ml_keeps_nibbles(c, product.k)) return ml_pack_nibbles(c, to, product.n, product.k);
    return ml_pack_weights_s8(c, to, &product);
}

/* If depth is 0, the outputs are zeros, without the bias, as in TFLite. */
static bool is_empty(const ml_call *c) {
    if (((const ml_blocks *)c->blob)->k > 0) return false;
    memset(ml_out(c, 0), 0, (size_t)ml_out_tensor(c, 0)->bytes);
    return true;
}

static ml_status fully_connected_f32(const ml_call *c) {
    if (is_empty(c)) return ML_OK;
    const fc_params *p = c->params;
    return ml_multiply_floats(c, c->blob, ml_in(c, 0), NULL, p->minimum, p->maximum);
}

/* Integers: rows are bytes; sums of int16 have 64 bits, unless the bias is int32. They are scaled
 * in double and rounded once. */

static void fill(const ml_call *c, int64_t first, int64_t count, int32_t group, uint8_t *copy,
                 ml_byte_rows *rows) {
    const ml_blocks *b = c->blob;
    const int32_t type = ml_in_tensor(c, 0)->type;
    const char *x = (const char *)ml_in(c, 0) + first * b->k * ml_type_bytes(type);
    *rows = (ml_byte_rows){(const uint8_t *)x, .a_stride = b->k, .width = count};
    rows->flip = ml_flip_of(type);
    if (type != ML_S16) return;
    rows->a = copy;
    rows->plane = count * b->k;
    ml_to_bytes(type, x, count * b->k, rows->plane, copy);
}

/* round(sum * multiplier) in float64, ties away from zero, as TFLite's reference kernel does; then
 * zero point and clamp. Without a branch, for sums have either sign. */
static inline int32_t scale_sum(double sum, double multiplier, int32_t zero, int32_t low,
                                int32_t high) {
    const double just_below_half = 0.49999999999999994;
    double v = sum * multiplier;
    v = v < -1e9 ? -1e9 : v;
    v = v > 1e9 ? 1e9 : v;
    return ml_clamp_s32((int32_t)(v + __builtin_copysign(just_below_half, v)) + zero, low, high);
}

/* Sums and bias wrap in `wrapping`. */
#define FINISH(name, sum_type, bias_type, wrapping, element) \
    static void finish_##name(const ml_call *c, const ml_requantized *r) { \
        const ml_weighted w = *(const ml_weighted *)c->derived; /* a copy, not read again after each store */ \
        const sum_type *sums = r->sums; \
        const bias_type *bias = r->bias ? (const bias_type *)r->bias + r->first : NULL; \
        const double *reals = w.reals + r->first; \
        const int64_t n = r->n; \
        element *y = r->y; \
        for (int64_t row = 0; row < r->rows; row++, sums += n, y += r->y_stride) \
            ML_IVDEP for (int64_t i = 0; i < n; i++) {                           \
                const wrapping sum = (wrapping)sums[i] + (wrapping)(bias ? bias[i] : 0); \
                y[i] = (element)scale_sum((double)(bias_type)sum, reals[i], w.y_zero, w.low, w.high); \
            } \
    }
FINISH(s16, int32_t, int32_t, uint32_t, int16_t)
FINISH(wide, int64_t, int64_t, uint64_t, int16_t)

/* Hybrid: each row of a float input is quantized by itself, sums are scaled back and added to the
 * bias. */

static void fill_quantized(const ml_call *c, int64_t first, int64_t count, int32_t group,
                           uint8_t *copy, ml_byte_rows *rows) {
    const ml_integers p = product_of(c);
    const uint8_t *x = ml_quantized_floats(c, &p, integer_rule(c)).bytes + first * p.k;
    *rows = (ml_byte_rows){x, .a_stride = p.k, .width = count};
}

static ml_scale_s32_args scaling(const ml_call *c, const ml_requantized *r, const float *scales) {
    const fc_params *p = c->params;
    return ml_scaling_of(c, r, scales, ML_SCALES_FIRST, p->minimum, p->maximum);
}

static const ml_integer_rule *integer_rule(const ml_call *c) {
    static const ml_integer_rule bytes = {fill, NULL, .requantizes = true},
                                 s16 = {fill, finish_s16, .wide = false},
                                 wide = {fill, finish_wide, .wide = true},
                                 hybrid = {fill_quantized, .scaling = scaling, .by_row = true};
    const ml_tensor *bias = ml_input(c, 2);
    switch (ml_input(c, 0)->type) {
    case ML_F32: return ml_input(c, 1)->type == ML_F32 ? NULL : &hybrid;
    case ML_S16: return bias && bias->type == ML_S32 ? &s16 : &wide;
    default: return ml_output(c, 0)->type == ML_S16 ? &s16 : &bytes;
    }
}

static ml_status fully_connected_integer(const ml_call *c) {
    if (is_empty(c)) return ML_OK;
    const fc_params *p = c->params;
    const ml_integers product = product_of(c);
    if (ml_keeps_nibbles(c, product.k))
        return ml_multiply_nibbles(c, &product, integer_rule(c), p->minimum, p->maximum);
    return ml_multiply_integers(c, &product, integer_rule(c));
}

static ml_status fully_connected_hybrid(const ml_call *c) {
    const fc_params *p = c->params;
    if (is_empty(c)) return ML_OK;
    if (p->block) {
        const ml_block_weights weights = weights_in_blocks(c);
        return ml_multiply_block_weights(c, c->blob, &weights, p->minimum, p->maximum);
    }
    const ml_integers product = product_of(c);
    ml_status status = ml_quantize_floats(c, &product, integer_rule(c), p->asymmetric);
    return status == ML_OK ? fully_connected_integer(c) : status;
}

#define DERIVE(name, ...)                                                                          \
    static int64_t derive_##name(const ml_call *c, void *to) {                                     \
        static const ml_weighted_rule rule = {__VA_ARGS__};                                        \
        const fc_params *p = c->params; \
        if (p->block) return 0; \
        return ml_derive_weighted(c, to, &rule, p->minimum, p->maximum); \
    }
DERIVE(bytes, .multiplier = ML_MULTIPLIER_DOUBLE)
DERIVE(s16, .multiplier = ML_MULTIPLIER_DOUBLE, .symmetric = true)
DERIVE(hybrid, .multiplier = ML_MULTIPLIER_SCALE, .symmetric_weights = true)

static ml_status check_fully_connected(const ml_call *c, void *params) {
    fc_params *p = params;
    if (ml_option_of(c, "weights_format").integer != 0)
        return ml_fail(c, ML_UNSUPPORTED, "weights format %s is not supported, only DEFAULT is",
                       ml_option_word(c, "weights_format"));
    ml_status status = ml_read_blocks(c, 1, &p->block, &p->scales);
    if (status != ML_OK || !p->block) return status;
    p->layout = (int32_t)ml_hash((uint64_t)p->block, p->scales.data, p->scales.bytes);
    if (ml_input(c, 0)->type == ML_F32 && ml_input(c, 1)->type != ML_F32) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "weights in blocks of %d are supported for inputs of f32 alone, the input is %s",
                   p->block, ml_type_name(ml_input(c, 0)->type));
}

static int64_t count_fully_connected(const ml_operand_shapes *of) {
    return ml_times(ml_extent_of_all(of, ML_THE_OUTPUT), ml_extent(of, 1, 1, 1));
}

ML_KERNELS(fully_connected) = {
    {ML_OP(FULLY_CONNECTED, 1, 14), .name = "fully_connected", .takes = "x weights bias? -> y",
     .flags = ML_KERNEL_CLAMPS, .check = check_fully_connected, ML_PARAMS_OF(fc_params),
     .blob_bytes = sizeof(ml_blocks), .packs = 1, .multiply_adds = count_fully_connected,
     .prepare = prepare_fully_connected, .prepare_reads = reads_fully_connected,
     .window = window_of_fully_connected,
     ML_TYPED({"f32 f32 f32? -> f32", NULL, pack_f32, fully_connected_f32},
              {"f32 s8|u8|s4|s2 f32? -> f32", derive_hybrid, pack_s8, fully_connected_hybrid},
              {"s8 s8|s4|s2 s32? -> s8", derive_bytes, pack_s8, fully_connected_integer},
              {"u8 u8 s32? -> u8|s16", derive_bytes, pack_s8, fully_connected_integer},
              {"s16 s8|s4|s2 s64|s32? -> s16", derive_s16, pack_s8, fully_connected_integer},
              {"s16 s16 s64|s32? -> s16", NULL, NULL, NULL})},
    ML_KERNELS_END,
};
