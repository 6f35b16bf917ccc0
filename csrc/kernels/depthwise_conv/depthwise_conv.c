/* depthwise_conv.c -- DEPTHWISE_CONV_2D: each input channel has `multiplier` filters of its own.
 * The filter is (1, height, width, outputs), output o belongs to input channel o / multiplier. */
#include "kernels/depthwise_conv/depthwise_conv.h"

#include "rules/products.h"

ML_FIELDS(depthwise_params, DEPTHWISE_FIELDS)

static depthwise_form form_of(const ml_call *c) {
    const int32_t x = ml_in_tensor(c, 0)->type;
    if (ml_in_tensor(c, 1)->type == ML_F32) return DEPTHWISE_FLOATS;
    return x == ML_S16 ? DEPTHWISE_WIDE : x == ML_F32 ? DEPTHWISE_HYBRID : DEPTHWISE_BYTES;
}

static ml_status prepare_scratch(const ml_call *c, ml_wish *wish) {
    depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const int64_t line = (int64_t)(w->x.in > w->x.out ? w->x.in : w->x.out) * blob->outputs;
    int64_t lines;
    blob->form = (uint8_t)form_of(c);
    if (__builtin_mul_overflow(line, w->y.size, &lines) || lines > INT64_MAX / 256)
        return ml_fail(c, ML_SHAPE_ERROR, "lines of %lld values are too large", (long long)line);
    const bool bytes = blob->form == DEPTHWISE_BYTES || blob->form == DEPTHWISE_HYBRID;
    if (bytes && !c->derived) return ML_OK; /* the reference runs */
    if (ml_depthwise_is_pixel(blob)) {
        blob->form = DEPTHWISE_PIXEL;
        ml_reserve(wish, ml_depthwise_pixel_bytes(c));
        return ML_OK;
    }
    if (blob->form == DEPTHWISE_HYBRID) ml_reserve(wish, ml_depthwise_slices_bytes(blob));
    if (blob->form == DEPTHWISE_BYTES)
        ml_reserve(wish, ml_max_s64(blob->outputs, ML_PANEL_DEPTHWISE) * (int64_t)sizeof(int32_t));
    wish->worker_bytes = blob->form == DEPTHWISE_FLOATS ? ml_depthwise_floats_bytes(blob)
                         : blob->form == DEPTHWISE_WIDE ? ml_depthwise_wide_bytes(blob)
                                                        : ml_depthwise_bytes_bytes(c);
    return ML_OK;
}

static ml_status prepare_depthwise(const ml_call *c, ml_wish *wish) {
    const depthwise_params *params = c->params;
    depthwise_blob *blob = c->blob;
    ml_window *window = &blob->window;
    const ml_shape *x = &ml_in_tensor(c, 0)->shape, *w = &ml_in_tensor(c, 1)->shape;
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
    if (c->derived && status == ML_OK) wish->layout = ml_depthwise_layout(c);
    return status == ML_OK ? prepare_scratch(c, wish) : status;
}

/* Floats that runs quantize have a scale of the whole image. */
static bool window_of_depthwise(const ml_call *c, ml_rectangle *out, ml_rectangle *in,
                                void *params) {
    const depthwise_blob *blob = c->blob;
    return form_of(c) != DEPTHWISE_HYBRID &&
           ml_cut_window(&blob->window, out, in, &((depthwise_params *)params)->window);
}

int64_t ml_depthwise_panel(const depthwise_blob *blob, int64_t lines) {
    return lines * blob->window.x.size * ML_PANEL_DEPTHWISE;
}

int64_t ml_depthwise_packed_bytes(const ml_call *c, int64_t lines, int64_t element) {
    const depthwise_blob *blob = c->blob;
    const int64_t panels = ml_ceil_div(blob->outputs, ML_PANEL_DEPTHWISE);
    char text[96];
    int64_t elements;
    if (!__builtin_mul_overflow(panels * element * ML_PANEL_DEPTHWISE, lines * blob->window.x.size,
                                &elements))
        return elements;
    ml_fail(c, ML_SHAPE_ERROR, "weights of shape %s are too large to pack",
            ml_shape_text(&ml_in_tensor(c, 1)->shape, text));
    return -1;
}

/* A constant `multiplier` makes loops that need no scalar stores. */
__attribute__((always_inline)) static inline void
repeat(const uint32_t *x, int64_t count, const int64_t multiplier, uint32_t *restrict y) {
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < multiplier; j++) *y++ = x[i];
}

static void repeat_bytes(const uint8_t *x, int64_t count, int64_t multiplier, uint8_t *y) {
    for (int64_t i = 0; i < count; i++, y += multiplier) memset(y, x[i], (size_t)multiplier);
}

static void repeat_words(const uint16_t *x, int64_t count, int64_t multiplier, uint16_t *y) {
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < multiplier; j++) *y++ = x[i];
}

void ml_depthwise_repeat(const void *x, int64_t count, int64_t element, int64_t multiplier,
                         void *y) {
    if (element == 1) repeat_bytes(x, count, multiplier, y);
    else if (element == 2) repeat_words(x, count, multiplier, y);
    else if (multiplier == 2) repeat(x, count, 2, y);
    else if (multiplier == 4) repeat(x, count, 4, y);
    else if (multiplier == 8) repeat(x, count, 8, y);
    else if (multiplier % 8 == 0)
        for (int64_t i = 0; i < count; i++)
            repeat((const uint32_t *)x + i, 1, multiplier, (uint32_t *)y + i * multiplier);
    else repeat(x, count, multiplier, y);
}

/* The cost of a tap, and of an output apart from its taps, as ml_work_grain counts them. */
enum { TAP_COST = 3, OUTPUT_COST = 8 };

ml_status ml_depthwise_run(const ml_call *c, int64_t unit, ml_body body, void *args) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const int64_t taps = (int64_t)w->y.size * w->x.size, lines = (int64_t)w->batches * w->y.out;
    const int64_t cost = (int64_t)w->x.out * blob->outputs * (TAP_COST * taps + OUTPUT_COST);
    return ml_parallel(c, lines, ml_round_up(ml_work_grain(lines, cost), unit), body, args);
}

#define DERIVE(type, ...)                                                \
    static int64_t derive_##type(const ml_call *c, void *to) {           \
        static const ml_weighted_rule rule = {.axis = 3, __VA_ARGS__};   \
        const depthwise_params *p = c->params;                           \
        return ml_derive_weighted(c, to, &rule, p->minimum, p->maximum); \
    }
DERIVE(of_s8, .multiplier = ML_MULTIPLIER_FIXED, .symmetric_weights = true, .sums = 2)
DERIVE(u8, .multiplier = ML_MULTIPLIER_SINGLE, .sums = 2)
DERIVE(s16, .multiplier = ML_MULTIPLIER_FIXED, .symmetric = true)
DERIVE(hybrid, .multiplier = ML_MULTIPLIER_SCALE, .symmetric_weights = true)

/* True if no weight is -128 and the level has faster code for that. */
static bool is_narrow(const ml_call *c, int32_t zero) {
    const ml_tensor *weights = ml_input(c, 1);
    const int8_t *w = ml_value(c, 1);
    const int64_t count = ml_elements(&weights->shape);
    int8_t least = 0;
    if (!c->env->simd->depthwise_s8_narrow || !w || weights->type != ML_S8) return false;
    if (zero < INT8_MIN || zero > INT8_MAX) return false;
    for (int64_t i = 0; i < count; i++) least = w[i] < least ? w[i] : least;
    return least > INT8_MIN;
}

static int64_t derive_s8(const ml_call *c, void *to) {
    const int64_t bytes = derive_of_s8(c, to);
    ml_weighted *w = to;
    if (to && bytes > 0 && ml_input(c, 1)) w->narrow = is_narrow(c, w->y_zero);
    return bytes;
}

static int64_t reads_depthwise(const ml_call *c) {
    return 2 * ml_reads_weighted(c) + (c->derived && ml_depthwise_is_narrow(c));
}

static const ml_typed depthwise_conv_2d[] = {
    {"f32 f32 f32? -> f32", NULL, ml_depthwise_pack_floats, ml_depthwise_floats},
    {"f32 s8 f32? -> f32", derive_hybrid, ml_depthwise_pack_bytes, ml_depthwise_hybrid},
    {"s8 s8|s4 s32? -> s8", derive_s8, ml_depthwise_pack_bytes, ml_depthwise_bytes},
    {"u8 u8 s32? -> u8", derive_u8, ml_depthwise_pack_bytes, ml_depthwise_bytes},
    {"s16 s8 s64? -> s16", derive_s16, NULL, ml_depthwise_wide},
    {NULL, NULL, NULL, NULL},
};

static int64_t count_depthwise(const ml_operand_shapes *of) {
    return ml_times(ml_extent_of_all(of, ML_THE_OUTPUT), ml_extent(of, 1, 1, 2));
}

ML_KERNELS(depthwise_conv) = {
    {ML_OP(DEPTHWISE_CONV_2D, 1, 7), .name = "depthwise_conv_2d", .takes = "x filter bias? -> y",
     .flags = ML_KERNEL_CLAMPS | ML_KERNEL_TAKES_PADDING, ML_PARAMS_OF(depthwise_params),
     .blob_bytes = sizeof(depthwise_blob), .packs = 1, .multiply_adds = count_depthwise,
     .prepare = prepare_depthwise, .prepare_reads = reads_depthwise, .window = window_of_depthwise,
     .typed = depthwise_conv_2d},
    ML_KERNELS_END,
};
