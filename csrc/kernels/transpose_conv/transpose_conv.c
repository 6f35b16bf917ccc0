/* transpose_conv.c -- TRANSPOSE_CONV: every input pixel, times weights of shape (outputs, height,
 * width, depth), is added to its window of outputs. The first operand is the output's shape: one
 * that is computed has to fit the input, a constant one that fits in the file follows the input.
 * Convolution2DTransposeBias has no such operand.
 *
 * Blocks of pixels are multiplied by the weights of all taps at once; the products are then added
 * to their outputs. */
#include "kernels/transpose_conv/transpose_conv.h"

#include <math.h>
#include "rules/products.h"
#include "rules/values.h"
#include "rules/window.h"
#include "rules/work.h"

ML_FIELDS(transpose_conv_params, TRANSPOSE_CONV_FIELDS)

/* Presents Convolution2DTransposeBias as TRANSPOSE_CONV: (no) shape, weights, input, bias. */
static const ml_call *shapeless(const ml_call *c, reordered_call *w) {
    w->operands[0] = -1;
    w->operands[1] = c->inputs[1];
    w->operands[2] = c->inputs[0];
    w->operands[3] = c->inputs[2];
    return reordered(c, w, 4);
}

static ml_status check_shapes(const ml_call *c) {
    const ml_shape *x = &ml_input(c, 2)->shape, *w = &ml_input(c, 1)->shape;
    const ml_shape *sizes = ml_input(c, 0) ? &ml_input(c, 0)->shape : NULL;
    char text[96];
    if (x->rank != 4)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "input must be (batch, height, width, channels), its shape is %s",
                       ml_shape_text(x, text));
    if (w->rank != 4)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "filter must be (outputs, height, width, depth), its shape is %s",
                       ml_shape_text(w, text));
    if (w->dims[3] != x->dims[3])
        return ml_fail(c, ML_SHAPE_ERROR, "filter depth %d does not match input depth %d",
                       w->dims[3], x->dims[3]);
    if (sizes && (sizes->rank != 1 || sizes->dims[0] != 4))
        return ml_fail(c, ML_SHAPE_ERROR, "the output's shape must be four numbers, it is %s",
                       ml_shape_text(sizes, text));
    return ML_OK;
}

static int64_t stride_of(const transpose_conv_params *p, int32_t d) {
    return d == 1 ? p->stride_h : p->stride_w;
}

/* Ranks are checked. */
static ml_transposed transposed(const ml_call *c, const transpose_conv_params *p) {
    const ml_shape *w = &ml_input(c, 1)->shape;
    return (ml_transposed){.axes = 2,
                           .outputs = w->dims[0],
                           .same = p->same,
                           .extents = {w->dims[1], w->dims[2]},
                           .strides = {p->stride_h, p->stride_w}};
}

static ml_status check_constant_shape(const ml_call *c, void *params) {
    transpose_conv_params *p = params;
    p->fits_file = false;
    if (ml_input(c, 2)->shape.rank != 4 || ml_input(c, 1)->shape.rank != 4) return ML_OK;
    const ml_transposed t = transposed(c, p);
    p->fits_file = ml_transposed_fits(c, &t);
    return ML_OK;
}

static ml_status read_shape(const ml_call *c, const void *value, ml_shape *y) {
    const transpose_conv_params *p = c->params;
    const ml_transposed t = transposed(c, p);
    return ml_transposed_shape(c, &t, p->fits_file, value, y);
}

/* Computes the output's shape if none is given. */
static ml_status make_shape(const ml_call *c, ml_shape *y) {
    const ml_shape *x = &ml_input(c, 2)->shape, *w = &ml_input(c, 1)->shape;
    const transpose_conv_params *p = c->params;
    y->rank = 0;
    ml_status status = ml_append_dim(c, y, x->dims[0]);
    for (int32_t i = 0; i < 2 && status == ML_OK; i++) {
        const int64_t stride = stride_of(p, i + 1), in = x->dims[i + 1];
        const int64_t last = w->dims[i + 1] - (i ? p->cut_w : p->cut_h); /* the end of the last
                                                                          * window */
        status = ml_append_dim(c, y, in > 0 ? (in - 1) * stride + last : 0);
    }
    return status == ML_OK ? ml_append_dim(c, y, w->dims[0]) : status;
}

static void place_windows(const ml_call *c, const ml_shape *y) {
    const ml_shape *x = &ml_input(c, 2)->shape, *w = &ml_input(c, 1)->shape;
    const transpose_conv_params *p = c->params;
    transpose_conv_blob *blob = c->blob;
    for (int32_t i = 0; i < 2; i++) {
        const int64_t stride = stride_of(p, i + 1);
        blob->in[i] = x->dims[i + 1];
        blob->out[i] = y->dims[i + 1];
        blob->taps[i] = w->dims[i + 1];
        const int64_t excess = (blob->in[i] - 1) * stride + blob->taps[i] - blob->out[i];
        blob->before[i] = (int32_t)(excess > 0 ? excess / 2 : 0);
    }
    if (p->out_h == 0) return;
    blob->before[0] = p->before_h;
    blob->before[1] = p->before_w;
}

/* Cuts one side: the pixels of the input whose windows reach outputs of `out`; returns the number
 * of outputs to cut off before them. */
static int32_t cut_side(const transpose_conv_blob *b, int32_t i, int64_t stride, ml_side out,
                        ml_side *in) {
    const int64_t first = out.first + (int64_t)b->before[i], above = first - b->taps[i] + 1;
    const int64_t last = ml_min_s64((out.end - (int64_t)1 + b->before[i]) / stride, b->in[i] - 1);
    /* Where strides are larger than windows, the first output may belong to none. */
    int64_t from = above > 0 ? ml_ceil_div(above, stride) : 0;
    from = ml_min_s64(ml_min_s64(from, first / stride), last);
    *in = (ml_side){(int32_t)from, (int32_t)last + 1};
    return (int32_t)(first - from * stride);
}

/* Floats that runs quantize have a scale of the whole image. */
static bool cut_transposed(const ml_call *c, int x, const ml_rectangle *out, ml_rectangle *in,
                           void *params) {
    const transpose_conv_blob *b = c->blob;
    transpose_conv_params *p = params;
    if (ml_input(c, x)->type == ML_F32 && ml_input(c, 1)->type != ML_F32) return false;
    p->before_h = cut_side(b, 0, p->stride_h, out->side[0], &in[x].side[0]);
    p->before_w = cut_side(b, 1, p->stride_w, out->side[1], &in[x].side[1]);
    p->out_h = out->side[0].end - out->side[0].first;
    p->out_w = out->side[1].end - out->side[1].first;
    return true;
}
static bool window_of_transpose_conv(const ml_call *c, ml_rectangle *out, ml_rectangle *in,
                                     void *params) {
    return cut_transposed(c, 2, out, in, params);
}
static bool window_of_shapeless(const ml_call *c, ml_rectangle *out, ml_rectangle *in,
                                void *params) {
    return cut_transposed(c, 0, out, in, params);
}

static void part_shape(const ml_call *c, ml_shape *y) {
    const transpose_conv_params *p = c->params;
    const ml_shape *x = &ml_input(c, 2)->shape, *w = &ml_input(c, 1)->shape;
    *y = (ml_shape){4, {x->dims[0], p->out_h, p->out_w, w->dims[0]}};
}

static ml_status prepare_transpose_conv(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 2)->shape, *w = &ml_input(c, 1)->shape;
    transpose_conv_blob *b = c->blob;
    reordered_call as;
    ml_status status = check_shapes(c);
    if (status == ML_OK) status = ml_check_weighted(weighted(c, &as), c->derived, w->dims[0]);
    if (status != ML_OK) return status;
    /* The output's shape is given, or follows from the windows. */
    const void *value = ml_value(c, 0);
    if (!value && ml_input(c, 0)) return ml_open_all(wish);
    ml_shape y;
    if (((const transpose_conv_params *)c->params)->out_h > 0) part_shape(c, &y);
    else status = value ? read_shape(c, value, &y) : make_shape(c, &y);
    if (status == ML_OK) status = ml_set_output(c, 0, &y);
    if (status != ML_OK) return status;
    place_windows(c, &y);
    b->batches = x->dims[0];
    b->depth = x->dims[3];
    b->outputs = w->dims[0];
    const int64_t n = ml_elements_of(w, 0, 3), pixels = ml_elements_of(x, 0, 3);
    const int64_t element = is_wide(c) ? 8 : 4;
    if (n > INT64_MAX / 64 / 1024 || b->depth > INT64_MAX / 16384)
        return ml_fail(c, ML_SHAPE_ERROR, "a filter of %lld values a channel is too large",
                       (long long)n);
    /* Blocks of pixels, whose products are scattered before the next block. */
    b->block = ml_min_s64(pixels, 1 + (1 << 18) / (n + 1));
    b->products = ml_reserve(wish, b->block * n * element);
    if (ml_input(c, 1)->type == ML_F32) return ML_OK;
    b->rows = ml_reserve(wish, is_hybrid(c) ? 0 : b->block * b->depth * 2);
    b->slices = ml_reserve(
        wish, is_hybrid(c) ? ml_slices_bytes(b->batches, pixels_of_batch(b) * b->depth) : 0);
    b->factors = ml_reserve(wish, b->block * (int64_t)sizeof(int32_t));
    b->planes = ml_reserve(wish, is_wide(c) ? b->block * n * element : 0);
    b->sums = ml_reserve(wish, ml_elements(&y) * element);
    return ML_OK;
}

/* Packs taps outermost, so that the outputs of a tap are next to each other. */
static int64_t source_of(const transpose_conv_blob *b, int64_t i) {
    const int64_t taps = (int64_t)b->taps[0] * b->taps[1];
    return (i % b->outputs * taps + i / b->outputs) * b->depth;
}

static int64_t pack_f32(const ml_call *c, void *to) {
    const transpose_conv_blob *b = c->blob;
    const ml_simd *simd = c->env->simd;
    const int64_t panel = simd->matmul_f32_panel, n = ml_elements_of(&ml_input(c, 1)->shape, 0, 3);
    const float *w = ml_value(c, 1);
    float *packed = to;
    for (int64_t i = 0; to && i < ml_round_up(n, panel); i++) {
        const float *from = i < n ? w + source_of(b, i) : NULL;
        float *at = packed + i / panel * panel * b->depth + i % panel;
        for (int64_t j = 0; j < b->depth; j++) at[j * panel] = from ? from[j] : 0.0f;
    }
    return ml_packed_f32(simd, n, b->depth) * (int64_t)sizeof(float);
}

SCATTER(scatter_f32, float)

/* Adds the bias and clamps the outputs of pixels first .. end - 1; a bias of one value, or none, to
 * all of them as one row. */
static ml_status finish_f32(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const transpose_conv_params *p = c->params;
    const int64_t outputs = ((const transpose_conv_blob *)c->blob)->outputs;
    const float nothing = 0.0f, *bias = ml_in_optional(c, 3);
    const bool is_row = !bias || outputs == 1;
    float *y = (float *)ml_out(c, 0) + first * outputs;
    const ml_zip_f32_args sum = {
        .a = y,
        .b = bias ? bias : &nothing,
        .y = y,
        .n = is_row ? (end - first) * outputs : outputs,
        .rows = is_row ? 1 : end - first,
        .a_row = outputs,
        .function = ML_ZIP_ADD,
        .kind = is_row ? ML_ZIP_SCALAR_B : ML_ZIP_FULL,
        .low = p->minimum,
        .high = p->maximum,
    };
    c->env->simd->zip_f32(&sum);
    return ML_OK;
}

ml_status ml_transpose_conv_scatter(const ml_call *c, ml_body scatter, scattering of) {
    const transpose_conv_blob *b = c->blob;
    const transpose_conv_params *p = c->params;
    const int64_t top = of.first / b->in[1], bottom = (of.first + of.count - 1) / b->in[1];
    const int64_t from = top % b->in[0] * p->stride_h - b->before[0];
    const int64_t to = bottom % b->in[0] * p->stride_h - b->before[0] + b->taps[0];
    const int64_t adds = of.count * b->taps[0] * b->taps[1] * b->outputs;
    of.line = top / b->in[0] * b->out[0] + ml_min_s64(ml_max_s64(from, 0), b->out[0]);
    const int64_t end = bottom / b->in[0] * b->out[0] + ml_max_s64(ml_min_s64(to, b->out[0]), 0);
    const int64_t lines = end - of.line;
    if (lines <= 0) return ML_OK; /* all is cut off */
    return ml_in_blocks(c, lines, adds / lines + 1, scatter, &of);
}

/* Multiplies pixels of a block by the weights of all taps. */
static ml_status multiply_f32(const ml_call *c, int64_t begin, int64_t end, int32_t worker,
                              void *args) {
    const scattering *of = args;
    const transpose_conv_blob *b = c->blob;
    const int64_t n = b->outputs * b->taps[0] * b->taps[1];
    const ml_matmul_f32_args product = {
        .a = (const float *)ml_in(c, 2) + (of->first + begin) * b->depth,
        .rows = end - begin,
        .a_stride = b->depth,
        .pieces = 1,
        .k = b->depth,
        .n = n,
        .packed = c->packed,
        .y = (float *)ml_scratch(c, b->products) + begin * n,
        .y_stride = n,
        .low = -__builtin_inff(),
        .high = __builtin_inff(),
    };
    c->env->simd->matmul_f32(&product);
    return ML_OK;
}

static ml_status transpose_conv_f32(const ml_call *c) {
    const transpose_conv_blob *b = c->blob;
    const int64_t pixels = b->batches * b->in[0] * b->in[1], outputs = b->outputs;
    const int64_t all = b->batches * b->out[0] * b->out[1];
    const int64_t cost = b->depth * outputs * b->taps[0] * b->taps[1];
    const float nothing = 0.0f;
    scattering of = {.products = ml_scratch(c, b->products), .y = ml_out(c, 0)};
    ml_status status =
        ml_fill_bytes(c, of.y, all * outputs * (int64_t)sizeof nothing, &nothing, sizeof nothing);
    /* Without inputs all products are 0. */
    for (; of.first < pixels && b->depth > 0 && status == ML_OK; of.first += of.count) {
        of.count = ml_min_s64(b->block, pixels - of.first);
        status = ml_parallel(c, of.count, ml_work_grain(of.count, cost), multiply_f32, &of);
        if (status == ML_OK) status = ml_transpose_conv_scatter(c, scatter_f32, of);
        if (status == ML_OK && of.first + of.count < pixels) status = ml_poll(c);
    }
    return status == ML_OK ? ml_in_blocks(c, all, outputs, finish_f32, NULL) : status;
}

static ml_status prepare_shapeless(const ml_call *c, ml_wish *wish) {
    reordered_call as;
    return prepare_transpose_conv(shapeless(c, &as), wish);
}
static ml_status shapeless_f32(const ml_call *c) {
    reordered_call as;
    return transpose_conv_f32(shapeless(c, &as));
}

#define BIAS_FIELDS(X, S)                                                    \
    X(S, i32, same, ML_BY_CHECK) X(S, i32, stride_h, ML_BY_CHECK)            \
    X(S, i32, stride_w, ML_BY_CHECK) X(S, i32, cut_h, ML_BY_CHECK)           \
    X(S, i32, cut_w, ML_BY_CHECK) X(S, i32, fits_file, ML_IS(0))             \
    TRANSPOSE_CONV_PART(X, S)                                                \
    X(S, f32, minimum, ML_IS(-INFINITY)) X(S, f32, maximum, ML_IS(INFINITY))
ML_FIELDS_AS(bias, transpose_conv_params, BIAS_FIELDS)

/* Reads how much is cut off a side, according to the file's shapes: dimension `d` of input, filter
 * and output. */
static ml_status read_cut(const ml_call *c, int32_t d, int32_t stride, int32_t same, int32_t *cut) {
    const ml_shape *x = &ml_input(c, 0)->shape, *w = &ml_input(c, 1)->shape;
    const ml_shape *y = &ml_output(c, 0)->shape;
    if (x->rank != 4 || w->rank != 4 || y->rank != 4) {
        *cut = same && w->rank == 4 ? (int32_t)ml_max_s64(0, (int64_t)w->dims[d] - stride) : 0;
        return ML_OK;
    }
    const int64_t size = x->dims[d], taps = w->dims[d], made = y->dims[d];
    const int64_t found =
        size ? (size - 1) * stride + taps - made : ml_max_s64(0, taps - stride) * same;
    if (same ? found < taps - stride || found >= taps : found <= -stride || found > 0)
        return ml_fail(
            c, ML_UNSUPPORTED,
            "%s padding and stride %d cannot give an output side of %lld for an input side of %lld",
            same ? "SAME" : "VALID", stride, (long long)made, (long long)size);
    *cut = (int32_t)found;
    return ML_OK;
}

/* The options are a C struct: padding, stride_w, stride_h. */
static ml_status check_bias(const ml_call *c, void *params) {
    transpose_conv_params *p = params;
    int32_t options[3];
    int64_t bytes;
    const uint8_t *from = c->env->core->custom_options(c, &bytes);
    if (bytes < (int64_t)sizeof options)
        return ml_fail(c, ML_UNSUPPORTED, "custom options of %lld bytes, expected 12 or more",
                       (long long)bytes);
    memcpy(options, from, sizeof options);
    if (options[0] != ML_CUSTOM_SAME && options[0] != ML_CUSTOM_VALID)
        return ml_fail(c, ML_UNSUPPORTED, "padding must be SAME or VALID, it is %d", options[0]);
    p->same = options[0] == ML_CUSTOM_SAME;
    p->stride_w = options[1];
    p->stride_h = options[2];
    if (p->stride_h <= 0 || p->stride_w <= 0)
        return ml_fail(c, ML_UNSUPPORTED, "strides %d, %d must be positive", p->stride_h,
                       p->stride_w);
    ml_status status = read_cut(c, 1, p->stride_h, p->same, &p->cut_h);
    return status == ML_OK ? read_cut(c, 2, p->stride_w, p->same, &p->cut_w) : status;
}

static int64_t count_transpose_conv(const ml_operand_shapes *of) {
    return ml_transposed_products(of, 2);
}

static int64_t count_shapeless(const ml_operand_shapes *of) {
    return ml_transposed_products(of, 0);
}

ML_KERNELS(transpose_conv) = {
    {ML_OP(TRANSPOSE_CONV, 1, 5), .name = "transpose_conv", .takes = "shape filter x bias? -> y",
     .check = check_constant_shape, .flags = ML_KERNEL_CLAMPS, ML_PARAMS_OF(transpose_conv_params),
     .blob_bytes = (int32_t)sizeof(transpose_conv_blob), .packs = 1,
     .multiply_adds = count_transpose_conv, .prepare = prepare_transpose_conv,
     .window = window_of_transpose_conv,
     ML_TYPED({"s32 f32 f32 f32? -> f32", NULL, pack_f32, transpose_conv_f32},
              {"s32 s8 s8 s32? -> s8", ml_transpose_conv_derive_s8, ml_transpose_conv_pack_s8,
               ml_transpose_conv_integers},
              {"s32 u8 u8 s32? -> u8", ml_transpose_conv_derive_u8, ml_transpose_conv_pack_s8,
               ml_transpose_conv_integers},
              {"s32 s8 f32 f32? -> f32", ml_transpose_conv_derive_hybrid, ml_transpose_conv_pack_s8,
               ml_transpose_conv_hybrid},
              {"s32 s8 s16 s64|s32? -> s16", ml_transpose_conv_derive_s16,
               ml_transpose_conv_pack_s8, ml_transpose_conv_integers})},
    {ML_CUSTOM_OP("Convolution2DTransposeBias", 1, 1), .name = "transpose_conv_bias",
     .takes = "x filter bias -> y", .check = check_bias,
     ML_PARAMS_AS_IN(bias, transpose_conv_params),
     .blob_bytes = (int32_t)sizeof(transpose_conv_blob), .packs = 1,
     .multiply_adds = count_shapeless, .prepare = prepare_shapeless, .window = window_of_shapeless,
     ML_TYPED({"f32 f32 f32 -> f32", NULL, pack_f32, shapeless_f32})},
    ML_KERNELS_END,
};
