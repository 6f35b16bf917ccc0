/* conv.c -- CONV_2D: shapes, and the products of floats. The windows of a block of output pixels,
 * or of all pixels, are copied into rows, which are multiplied with the weights; or lines.c
 * multiplies them in place, or winograd_floats.c takes tiles. integers.c has the products of
 * integers. Filters are (outputs, height, width, depth). If depth is a fraction of the input's
 * depth, the convolution is grouped. */
#include "kernels/conv/conv.h"

#include "rules/products.h"

ML_FIELDS(conv_params, CONV_FIELDS)

/* Turns an image one pixel wide, and its filter, into a single line: the order in memory is the
 * same. */
static void lay_down(ml_window *w) {
    const ml_window_axis x = w->x;
    if (x.in != 1 || x.out != 1 || x.size != 1 || w->y.dilation != 1) return;
    w->x = w->y;
    w->y = x;
}

/* True if all windows are copied before any is multiplied: if they are few and the weights are
 * large, these are then read once, a few outputs at a time, not again for each line. */
static bool is_copied(const ml_blocks *b) {
    const int64_t large = 256 << 10;
    return b->groups == 1 && 4 * b->rows <= b->n && b->k * b->n > large;
}

static ml_status prepare_floats(const ml_call *c, ml_wish *wish) {
    conv_blob *blob = c->blob;
    ml_blocks *b = &blob->blocks;
    wish->layout = b->groups;
    if (ml_conv_prepare_winograd_floats(c, blob, wish)) return ML_OK;
    if (blob->source == CONV_GATHERED && is_copied(b)) {
        blob->source = CONV_COPIED;
        ml_reserve(wish, b->rows * b->k * (int64_t)sizeof(float));
    }
    if (blob->source == CONV_GATHERED && ml_conv_prepare_lines(c, blob, wish)) return ML_OK;
    return ml_prepare_floats(c, wish, b, blob->source == CONV_GATHERED);
}

static ml_status prepare_conv(const ml_call *c, ml_wish *wish) {
    const conv_params *params = c->params;
    conv_blob *blob = c->blob;
    ml_window *window = &blob->window;
    const ml_shape *x = &ml_in_tensor(c, 0)->shape, *w = &ml_in_tensor(c, 1)->shape;
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
    /* Groups, each of which has a part of the input's depth. */
    int32_t groups = x->dims[3] / w->dims[3];
    if (w->dims[0] % groups != 0)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "%d outputs do not split into %d groups (input depth %d, filter depth %d)",
                       w->dims[0], groups, x->dims[3], w->dims[3]);
    ml_shape y = {4, {x->dims[0], window->y.out, window->x.out, w->dims[0]}};
    status = ml_check_weighted(c, c->derived, w->dims[0]);
    if (status == ML_OK) status = ml_set_output(c, 0, &y);
    if (status != ML_OK) return status;
    /* The product: windows of one pixel are read in place, others are gathered. */
    blob->depth = w->dims[3];
    lay_down(window);
    bool direct = groups == 1 && window->y.size == 1 && window->x.size == 1 &&
                  window->y.stride == 1 && window->x.stride == 1;
    blob->source = direct ? CONV_DIRECT : CONV_GATHERED;
    blob->blocks = (ml_blocks){
        .rows = ml_window_pixels(window), .k = k, .n = w->dims[0] / groups, .groups = groups};
    if (ml_in_tensor(c, 1)->type == ML_F32) return prepare_floats(c, wish);
    return ml_conv_prepare_integers(c, wish);
}

/* Floats that runs quantize have a scale of the whole image. */
static bool window_of_conv(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params) {
    ml_window window;
    conv_params *part = params;
    const bool hybrid = ml_in_tensor(c, 0)->type == ML_F32 && ml_in_tensor(c, 1)->type != ML_F32;
    return !hybrid && ml_window_prepare_filter(c, &window, &part->window, "") == ML_OK &&
           ml_cut_window(&window, out, in, &part->window);
}

static int64_t pack_f32(const ml_call *c, void *to) {
    const conv_blob *blob = c->blob;
    if (blob->source == CONV_WINOGRAD) return ml_conv_pack_winograd_floats(c, to);
    return ml_pack_weights_f32(c, to, blob->blocks.groups);
}

static void gather_f32(const ml_call *c, const ml_block *b) {
    const conv_blob *blob = c->blob;
    ml_window_gather_f32(&blob->window, ml_in(c, 0), (int64_t)b->group * blob->depth, blob->depth,
                         b->first, b->count, b->rows);
}

static ml_status copy_windows(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                              void *args) {
    const int64_t k = ((const conv_blob *)c->blob)->blocks.k;
    const ml_block b = {
        .first = first, .count = end - first, .rows = (float *)c->scratch + first * k};
    gather_f32(c, &b);
    return ML_OK;
}

static ml_status conv_2d_f32(const ml_call *c) {
    const conv_params *params = c->params;
    const conv_blob *blob = c->blob;
    const ml_blocks *b = &blob->blocks;
    const float *rows = blob->source == CONV_DIRECT ? ml_in(c, 0) : NULL;
    if (blob->source == CONV_WINOGRAD) return ml_conv_winograd_floats(c);
    if (blob->source == CONV_LINES) return ml_conv_multiply_lines(c);
    if (blob->source == CONV_COPIED) {
        const ml_status status =
            ml_parallel(c, b->rows, ml_work_grain(b->rows, b->k), copy_windows, NULL);
        if (status != ML_OK) return status;
        rows = c->scratch;
    }
    return ml_multiply_floats(c, b, rows, gather_f32, params->minimum, params->maximum);
}

#define DERIVE(type, ...)                                                                   \
    static int64_t derive_##type(const ml_call *c, void *to) {                              \
        static const ml_weighted_rule rule = {__VA_ARGS__};                                 \
        const conv_params *p = c->params; \
        return ml_derive_weighted(c, to, &rule, p->minimum, p->maximum); \
    }
DERIVE(s8, .multiplier = ML_MULTIPLIER_FIXED, .symmetric_weights = true, .sums = 1)
DERIVE(u8, .multiplier = ML_MULTIPLIER_SINGLE, .sums = 1)
DERIVE(s16, .multiplier = ML_MULTIPLIER_FIXED, .symmetric = true)
DERIVE(hybrid, .multiplier = ML_MULTIPLIER_SCALE, .symmetric_weights = true)

static const ml_typed conv_2d[] = {
    {"f32 f32 f32? -> f32", NULL, pack_f32, conv_2d_f32},
    {"f32 s8|u8|s4 f32? -> f32", derive_hybrid, ml_conv_pack_s8, ml_conv_hybrid},
    {"s8 s8|s4 s32? -> s8", derive_s8, ml_conv_pack_s8, ml_conv_integers},
    {"u8 u8 s32? -> u8", derive_u8, ml_conv_pack_s8, ml_conv_integers},
    {"s16 s8|s4 s64|s32? -> s16", derive_s16, ml_conv_pack_s8, ml_conv_integers},
    {NULL, NULL, NULL, NULL},
};

/* Each output element is a sum over one filter, (height, width, channels of a group). */
static int64_t count_conv(const ml_operand_shapes *of) {
    return ml_times(ml_extent_of_all(of, ML_THE_OUTPUT), ml_extent(of, 1, 1, ML_MAX_RANK - 1));
}

ML_KERNELS(conv) = {
    {ML_OP(CONV_2D, 1, 8), .name = "conv_2d", .takes = "x filter bias? -> y",
     .flags = ML_KERNEL_CLAMPS | ML_KERNEL_TAKES_PADDING, ML_PARAMS_OF(conv_params),
     .blob_bytes = sizeof(conv_blob), .packs = 1, .multiply_adds = count_conv,
     .prepare = prepare_conv, .prepare_reads = ml_reads_weighted, .window = window_of_conv,
     .larger = ml_conv_larger, .way = ml_conv_way, .typed = conv_2d},
    ML_KERNELS_END,
};
