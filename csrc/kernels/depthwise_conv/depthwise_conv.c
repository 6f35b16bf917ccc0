/* depthwise_conv.c -- DEPTHWISE_CONV_2D: each input channel has `multiplier` filters of its own. The filter is
 * (1, height, width, outputs), output o belongs to input channel o / multiplier. */
#include "kernels/depthwise_conv/depthwise_conv.h"

ML_FIELDS(depthwise_params, DEPTHWISE_FIELDS)

/* Floats of the lines of one window row. */
static int64_t lines_floats(const depthwise_blob *blob) {
    return (int64_t)blob->window.x.in * blob->outputs * blob->window.y.size;
}

depthwise_layout ml_depthwise_layout(const depthwise_blob *blob) {
    int64_t n = blob->outputs, floats = blob->direct ? 0 : lines_floats(blob);
    depthwise_layout l = {.piece = ml_round_up(floats * (int64_t)sizeof(float), 64)};
    bool integer = blob->form != DEPTHWISE_FLOATS;
    l.sums = l.piece + (integer ? ml_round_up(n * (int64_t)sizeof(float), 64) : 0);
    int64_t sums = blob->form == DEPTHWISE_WIDE ? n * (int64_t)sizeof(int64_t)
                                                : n * blob->window.x.out * (int64_t)sizeof(int32_t);
    l.bytes = l.sums + (integer ? sums : 0);
    return l;
}

static ml_status prepare_scratch(const ml_call *c, ml_wish *wish) {
    depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    int32_t x = ml_input(c, 0)->type, longer = w->x.in > w->x.out ? w->x.in : w->x.out;
    int64_t line = (int64_t)longer * blob->outputs, lines;
    bool floats = ml_input(c, 1)->type == ML_F32;
    blob->form = floats ? DEPTHWISE_FLOATS : x == ML_S16 ? DEPTHWISE_WIDE : DEPTHWISE_BYTES;
    blob->direct = blob->form == DEPTHWISE_WIDE || (floats && blob->multiplier == 1);
    if (__builtin_mul_overflow(line, w->y.size, &lines) || lines > INT64_MAX / 64)
        return ml_fail(c, ML_SHAPE_ERROR, "lines of %d x %d values are too large", longer,
                       blob->outputs);
    if (x == ML_F32 && !floats) ml_reserve_quantized_input(c, wish);
    wish->worker_bytes = ml_depthwise_layout(blob).bytes;
    return ML_OK;
}

static ml_status prepare_depthwise(const ml_call *c, ml_wish *wish) {
    const depthwise_params *params = c->params;
    depthwise_blob *blob = c->blob;
    ml_window *window = &blob->window;
    const ml_shape *x = &ml_input(c, 0)->shape, *w = &ml_input(c, 1)->shape;
    char text[96];
    ml_status status =
        ml_window_prepare_filter(c, window, &params->window, "(1, height, width, outputs)");
    if (status != ML_OK) return status;
    if (w->dims[0] != 1)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "filter must be (1, height, width, outputs), its shape is %s",
                       ml_shape_text(w, text));
    if (x->dims[3] <= 0 || w->dims[3] % x->dims[3] != 0)
        return ml_fail(c, ML_SHAPE_ERROR, "%d filters are not a multiple of the input depth %d",
                       w->dims[3], x->dims[3]);
    blob->outputs = w->dims[3];
    blob->multiplier = w->dims[3] / x->dims[3];
    ml_shape y = {4, {x->dims[0], window->y.out, window->x.out, w->dims[3]}};
    status = ml_check_weighted(c, c->derived, w->dims[3]);
    if (status == ML_OK) status = ml_set_output(c, 0, &y);
    /* The packed filter has its zero point taken off. */
    if (c->derived) wish->layout = ((const ml_weighted *)c->derived)->w_zero;
    return status == ML_OK ? prepare_scratch(c, wish) : status;
}

/* The filter of bytes as floats, less its zero point. */
static int64_t pack_bytes(const ml_call *c, void *to) {
    const ml_tensor *filter = ml_input(c, 1);
    const ml_weighted *w = c->derived;
    int64_t count = ml_elements(&filter->shape);
    const int8_t *s8 = ml_value(c, 1);
    const uint8_t *u8 = ml_value(c, 1);
    float *y = to;
    if (filter->type == ML_S4)
        for (int64_t i = 0; y && i < count; i++) y[i] = (float)(ml_nibble(s8, i) - w->w_zero);
    else if (filter->type == ML_S8)
        for (int64_t i = 0; y && i < count; i++) y[i] = (float)(s8[i] - w->w_zero);
    else
        for (int64_t i = 0; y && i < count; i++) y[i] = (float)(u8[i] - 128 - w->w_zero);
    return count * (int64_t)sizeof(float);
}

ml_status ml_depthwise_run(const ml_call *c, ml_body body) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    int64_t cost = (int64_t)w->x.out * blob->outputs * w->y.size * w->x.size;
    return ml_parallel(c, (int64_t)w->batches * w->y.out, ml_work_grain(4 * cost), body, NULL);
}

#define DERIVE(type, ...)                                                                             \
    static int64_t derive_##type(const ml_call *c, void *to) {                                        \
        static const ml_weighted_rule rule = {.axis = 3, __VA_ARGS__};                                \
        const depthwise_params *p = c->params; \
        return ml_derive_weighted(c, to, &rule, p->minimum, p->maximum); \
    }
DERIVE(s8, .multiplier = ML_MULTIPLIER_FIXED, .symmetric_weights = true)
DERIVE(u8, .multiplier = ML_MULTIPLIER_SINGLE)
DERIVE(s16, .multiplier = ML_MULTIPLIER_FIXED, .symmetric = true)
DERIVE(hybrid, .multiplier = ML_MULTIPLIER_SCALE, .symmetric_weights = true)

static const ml_typed depthwise_conv_2d[] = {
    {"f32 f32 f32? -> f32", NULL, NULL, ml_depthwise_floats},
    {"f32 s8 f32? -> f32", derive_hybrid, pack_bytes, ml_depthwise_hybrid},
    {"s8 s8|s4 s32? -> s8", derive_s8, pack_bytes, ml_depthwise_bytes},
    {"u8 u8 s32? -> u8", derive_u8, pack_bytes, ml_depthwise_bytes},
    {"s16 s8 s64? -> s16", derive_s16, NULL, ml_depthwise_wide},
    {NULL, NULL, NULL, NULL},
};

ML_KERNELS(depthwise_conv) = {
    {.abi = ML_KERNEL_ABI,
     .name = "depthwise_conv_2d",
     ML_PARAMS_OF(depthwise_params),
     .blob_bytes = sizeof(depthwise_blob),
     .packs = 1,
     .prepare = prepare_depthwise,
     .typed = depthwise_conv_2d},
    ML_KERNELS_END,
};
