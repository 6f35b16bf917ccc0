/* conv.c -- CONV_2D: blocks of output pixels have their windows gathered into rows, which are multiplied with the weights; or
 * lines.c finds the rows where they lie. Filters are (outputs, height, width, depth); a depth that divides the input's makes a grouped convolution. */
#include "kernels/conv/conv.h"

ML_FIELDS(conv_params, CONV_FIELDS)

/* int8, uint8 and int16 with int8 weights; of those with an int64 bias, or none, int64 sums. */
static void gather_integers(const ml_call *c, const ml_block *b) {
    const conv_blob *blob = c->blob;
    const ml_weighted *w = c->derived;
    int32_t type = ml_in_tensor(c, 0)->type;
    int64_t stride = ml_padded_row(blob->blocks.k), k = blob->blocks.k;
    if (blob->source == CONV_DIRECT && stride == k && type == ML_S8)
        ml_widen_s8((const int8_t *)ml_in(c, 0) + b->first * k, b->count * k, b->rows);
    else
        ml_window_gather_s16(&blob->window, type, ml_in(c, 0), (int64_t)b->group * blob->depth,
                             blob->depth, b->first, b->count, (int16_t)w->x_zero, stride, b->rows);
}

static ml_requantized sums_of(const ml_call *c, const ml_block *b, const void *bias) {
    const ml_blocks *blocks = &((const conv_blob *)c->blob)->blocks;
    int64_t n = blocks->n, stride = n * blocks->groups, first = b->group * n;
    char *y = (char *)ml_out(c, 0) +
              (b->first * stride + first) * ml_type_bytes(ml_out_tensor(c, 0)->type);
    return (ml_requantized){bias, b->sums, b->count, first, n, y, stride};
}

static void finish_integers(const ml_call *c, const ml_block *b) {
    ml_requantized r = sums_of(c, b, b->bias);
    ml_requantize_sums(c, &r, ml_out_tensor(c, 0)->type);
}

static void finish_wide(const ml_call *c, const ml_block *b) {
    ml_requantized r = sums_of(c, b, ml_in_optional(c, 2));
    ml_requantize_wide(c, &r);
}

static const ml_integer_rule narrow = {gather_integers, finish_integers, .folds = true};
static const ml_integer_rule wide = {gather_integers, finish_wide, .wide = true};

/* Hybrid: a float input whose batches are quantized by themselves, asymmetrically where outputs have scales of their own. */
static void gather_quantized(const ml_call *c, const ml_block *b) {
    const conv_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    ml_quantized_input x = ml_quantized_input_of(c);
    float *scales = b->own;
    ml_window_gather_s16(w, ML_S16, x.values, (int64_t)b->group * blob->depth, blob->depth,
                         b->first, b->count, 0, ml_padded_row(blob->blocks.k), b->rows);
    for (int64_t r = 0; r < b->count; r++)
        scales[r] = x.scales[(b->first + r) / ((int64_t)w->y.out * w->x.out)];
}

static void finish_hybrid(const ml_call *c, const ml_block *b) {
    const conv_params *p = c->params;
    ml_requantized r = sums_of(c, b, ml_in_optional(c, 2));
    bool each = ml_input_quantization(c, 1)->n_scales > 1;
    ml_scale_sums(c, &r, b->own, each ? ML_WEIGHTS_FIRST : ML_SCALES_FIRST, p->minimum, p->maximum);
}

static const ml_integer_rule hybrid = {gather_quantized, finish_hybrid, .folds = false};

/* How a node with integer weights is multiplied; int16 is summed in 64 bits as in TFLite. */
static const ml_integer_rule *integer_rule(const ml_call *c) {
    const ml_tensor *bias = ml_input(c, 2);
    if (ml_input(c, 0)->type == ML_F32) return &hybrid;
    return ml_input(c, 0)->type == ML_S16 && !(bias && bias->type == ML_S32) ? &wide : &narrow;
}

static ml_status prepare_conv(const ml_call *c, ml_wish *wish) {
    const conv_params *params = c->params;
    conv_blob *blob = c->blob;
    ml_window *window = &blob->window;
    const ml_shape *x = &ml_input(c, 0)->shape, *w = &ml_input(c, 1)->shape;
    char text[96];
    ml_status status =
        ml_window_prepare_filter(c, window, &params->window, "(outputs, height, width, depth)");
    if (status != ML_OK) return status;
    ml_shape one = {3, {w->dims[1], w->dims[2], w->dims[3]}};
    int64_t k = ml_elements(&one);
    if (k < 0)
        return ml_fail(c, ML_SHAPE_ERROR, "a filter of %s has more elements than an int64 counts",
                       ml_shape_text(&one, text));
    if (w->dims[3] <= 0 || x->dims[3] <= 0 || x->dims[3] % w->dims[3] != 0)
        return ml_fail(c, ML_SHAPE_ERROR, "filter depth %d does not match input depth %d",
                       w->dims[3], x->dims[3]);
    int32_t groups = x->dims[3] / w->dims[3];
    if (w->dims[0] % groups != 0)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "%d outputs do not split into %d groups (input depth %d, filter depth %d)",
                       w->dims[0], groups, x->dims[3], w->dims[3]);
    ml_shape y = {4, {x->dims[0], window->y.out, window->x.out, w->dims[0]}};
    status = ml_check_weighted(c, c->derived, w->dims[0]);
    if (status == ML_OK) status = ml_set_output(c, 0, &y);
    if (status != ML_OK) return status;
    blob->depth = w->dims[3];
    bool direct = groups == 1 && window->y.size == 1 && window->x.size == 1 &&
                  window->y.stride == 1 && window->x.stride == 1;
    blob->source = direct ? CONV_DIRECT : CONV_GATHERED;
    blob->blocks = (ml_blocks){
        .rows = ml_window_pixels(window), .k = k, .n = w->dims[0] / groups, .groups = groups};
    if (ml_input(c, 1)->type == ML_F32) {
        wish->layout = groups;
        if (!direct && ml_conv_prepare_lines(blob, wish)) return ML_OK;
        return ml_prepare_floats(c, wish, &blob->blocks, !direct);
    }
    if (ml_input(c, 0)->type == ML_F32) {
        blob->blocks.own_bytes = sizeof(float);
        ml_reserve_quantized_input(c, wish);
    }
    return ml_prepare_integers(c, wish, &blob->blocks, integer_rule(c));
}

static int64_t pack_f32(const ml_call *c, void *to) {
    return ml_pack_weights_f32(c, to, ((const conv_blob *)c->blob)->blocks.groups);
}

static void gather_f32(const ml_call *c, const ml_block *b) {
    const conv_blob *blob = c->blob;
    ml_window_gather_f32(&blob->window, ml_in(c, 0), (int64_t)b->group * blob->depth, blob->depth,
                         b->first, b->count, b->rows);
}

static ml_status conv_2d_f32(const ml_call *c) {
    const conv_params *params = c->params;
    const conv_blob *blob = c->blob;
    if (blob->source == CONV_LINES) return ml_conv_multiply_lines(c);
    return ml_multiply_floats(c, &blob->blocks, blob->source == CONV_DIRECT ? NULL : gather_f32,
                              params->minimum, params->maximum);
}

static ml_status conv_2d_integer(const ml_call *c) {
    const conv_blob *blob = c->blob;
    return ml_multiply_integers(c, &blob->blocks, integer_rule(c));
}

static ml_status conv_2d_hybrid(const ml_call *c) {
    ml_quantize_input(c, ml_input_quantization(c, 1)->n_scales > 1);
    return conv_2d_integer(c);
}

#define DERIVE(type, ...)                                                                   \
    static int64_t derive_##type(const ml_call *c, void *to) {                              \
        static const ml_weighted_rule rule = {__VA_ARGS__};                                 \
        const conv_params *p = c->params; \
        return ml_derive_weighted(c, to, &rule, p->minimum, p->maximum); \
    }
DERIVE(s8, .multiplier = ML_MULTIPLIER_FIXED, .symmetric_weights = true)
DERIVE(u8, .multiplier = ML_MULTIPLIER_SINGLE)
DERIVE(s16, .multiplier = ML_MULTIPLIER_FIXED, .symmetric = true)
DERIVE(hybrid, .multiplier = ML_MULTIPLIER_SCALE, .symmetric_weights = true)

static const ml_typed conv_2d[] = {
    {"f32 f32 f32? -> f32", NULL, pack_f32, conv_2d_f32},
    {"f32 s8|s4 f32? -> f32", derive_hybrid, ml_pack_weights_s8, conv_2d_hybrid},
    {"s8 s8|s4 s32? -> s8", derive_s8, ml_pack_weights_s8, conv_2d_integer},
    {"u8 u8 s32? -> u8", derive_u8, ml_pack_weights_s8, conv_2d_integer},
    {"s16 s8|s4 s64|s32? -> s16", derive_s16, ml_pack_weights_s8, conv_2d_integer},
    {NULL, NULL, NULL, NULL},
};

ML_KERNELS(conv) = {
    {.abi = ML_KERNEL_ABI,
     .name = "conv_2d",
     ML_PARAMS_OF(conv_params),
     .blob_bytes = sizeof(conv_blob),
     .packs = 1,
     .prepare = prepare_conv,
     .typed = conv_2d},
    ML_KERNELS_END,
};
