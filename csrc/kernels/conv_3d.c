/* conv_3d.c -- CONV_3D: windows over depth, height and width are gathered into rows, which are
 * multiplied with weights of (depth, height, width, channels, outputs). CONV_3D_TRANSPOSE: each
 * input voxel, times weights of (depth, height, width, outputs, channels), is added to its window
 * of outputs; the first operand is the output's shape, as for TRANSPOSE_CONV. */
#include "math/float_math.h"
#include "rules/matmul.h"
#include "rules/products.h"
#include "rules/values.h"
#include "rules/window.h"
#include "rules/work.h"

enum { AXES = 3 };
static const char *const axis_names[AXES] = {"depth", "height", "width"};

#define CONV_3D_FIELDS(X, S)                                                                      \
    X(S, i32, same, ML_SAME_PADDING) X(S, i32, stride_d, ML_POSITIVE("stride_d")) X(S, i32, stride_h, ML_POSITIVE("stride_h")) X(S, i32, stride_w, ML_POSITIVE("stride_w"))                   \
    X(S, i32, dilation_d, ML_POSITIVE("dilation_d_factor")) X(S, i32, dilation_h, ML_POSITIVE("dilation_h_factor")) X(S, i32, dilation_w, ML_POSITIVE("dilation_w_factor")) ML_CLAMP_FIELDS(X, S) \
    X(S, i32, fits_file, ML_IS(0)) /* of the transposed one, by its check: see ml_transposed_fits */
ML_PARAMS(conv_3d_params, CONV_3D_FIELDS)

typedef struct conv_3d_blob {
    ml_blocks blocks; /* voxels that are multiplied at a time */
    ml_window_axis axes[AXES]; /* from the larger side to that of windows */
    int64_t channels; /* of the input */
    int64_t outputs;
    int64_t products; /* in scratch, for the transposed one */
} conv_3d_blob;

static ml_status check_ranks(const ml_call *c, int x) {
    const ml_shape *input = &ml_input(c, x)->shape, *w = &ml_input(c, 1)->shape;
    char text[96];
    if (input->rank != 5)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "input must be (batch, depth, height, width, channels), its shape is %s",
                       ml_shape_text(input, text));
    if (w->rank != 5 || ml_elements(w) <= 0)
        return ml_fail(c, ML_SHAPE_ERROR, "filter must be of rank 5 and not empty, its shape is %s",
                       ml_shape_text(w, text));
    return ML_OK;
}

/* Places the windows of the filter over `sides`; the ranks were checked above. */
static ml_status place_windows(const ml_call *c, int x, const int32_t *sides) {
    const conv_3d_params *p = c->params;
    const ml_shape *input = &ml_input(c, x)->shape, *w = &ml_input(c, 1)->shape;
    const int32_t strides[AXES] = {p->stride_d, p->stride_h, p->stride_w};
    const int32_t dilations[AXES] = {p->dilation_d, p->dilation_h, p->dilation_w};
    conv_3d_blob *b = c->blob;
    const int32_t channels = w->dims[x == 0 ? 3 : 4];
    b->channels = input->dims[4];
    b->outputs = w->dims[x == 0 ? 4 : 3];
    if (channels != b->channels)
        return ml_fail(c, ML_SHAPE_ERROR, "filter channels %d do not match input channels %d",
                       channels, input->dims[4]);
    ml_status status = ML_OK;
    for (int i = 0; i < AXES && status == ML_OK; i++) {
        b->axes[i] =
            (ml_window_axis){.size = w->dims[i], .stride = strides[i], .dilation = dilations[i]};
        status = ml_window_prepare_axis(c, &b->axes[i], axis_names[i], sides[i], p->same);
    }
    return status;
}

static ml_status check_bias(const ml_call *c, int at) {
    const ml_tensor *bias = ml_input(c, at);
    const conv_3d_blob *b = c->blob;
    if (!bias || ml_elements(&bias->shape) == b->outputs) return ML_OK;
    return ml_fail(c, ML_SHAPE_ERROR, "bias has %lld values, expected %lld",
                   (long long)ml_elements(&bias->shape), (long long)b->outputs);
}

static ml_status prepare_conv_3d(const ml_call *c, ml_wish *wish) {
    conv_3d_blob *b = c->blob;
    ml_status status = check_ranks(c, 0);
    if (status == ML_OK) status = place_windows(c, 0, ml_input(c, 0)->shape.dims + 1);
    if (status == ML_OK) status = check_bias(c, 2);
    if (status != ML_OK) return status;
    const ml_shape y = {5,
                        {ml_input(c, 0)->shape.dims[0], b->axes[0].out, b->axes[1].out,
                         b->axes[2].out, (int32_t)b->outputs}};
    status = ml_set_output(c, 0, &y);
    if (status != ML_OK) return status;
    b->blocks = (ml_blocks){.rows = ml_elements_of(&y, 0, 4),
                            .k = ml_elements_of(&ml_input(c, 1)->shape, 0, 4),
                            .n = (int32_t)b->outputs,
                            .groups = 1};
    return ml_prepare_floats(c, wish, &b->blocks, true);
}

static int64_t pack_conv_3d(const ml_call *c, void *to) {
    const ml_shape *w = &ml_input(c, 1)->shape;
    const int64_t k = ml_elements_of(w, 0, 4), n = w->dims[4];
    if (to) ml_pack_columns_f32(c->env->simd, ml_value(c, 1), n, k, to);
    return ml_weights_f32(c->env->simd, n, k) * (int64_t)sizeof(float);
}

/* The window at `at`, tap by tap: `visit` gets the `values` of the tap in a row, and the same
 * values in `image` (NULL outside). */
typedef void visit_fn(float *row, float *image, int64_t values);
static inline float *walk_window(const conv_3d_blob *b, const int64_t at[AXES], float *image,
                                 float *row, int64_t values, visit_fn *visit) {
    const ml_window_axis *d = &b->axes[0], *h = &b->axes[1], *w = &b->axes[2];
    for (int64_t i = 0; i < d->size; i++) {
        const int64_t z = at[0] * d->stride - d->before + i * d->dilation;
        for (int64_t j = 0; j < h->size; j++) {
            const int64_t y = at[1] * h->stride - h->before + j * h->dilation;
            const bool inside = z >= 0 && z < d->in && y >= 0 && y < h->in;
            for (int64_t k = 0; k < w->size; k++, row += values) {
                const int64_t x = at[2] * w->stride - w->before + k * w->dilation;
                const bool there = inside && x >= 0 && x < w->in;
                visit(row, there ? image + ((z * h->in + y) * w->in + x) * values : NULL, values);
            }
        }
    }
    return row;
}

static inline void take(float *row, float *image, int64_t values) {
    const size_t bytes = (size_t)values * sizeof(float);
    if (image) memcpy(row, image, bytes);
    else memset(row, 0, bytes);
}

static void gather(const ml_call *c, const ml_block *block) {
    const conv_3d_blob *b = c->blob;
    const ml_window_axis *d = &b->axes[0], *h = &b->axes[1], *w = &b->axes[2];
    const int64_t volume = (int64_t)d->in * h->in * w->in * b->channels;
    float *row = block->rows, *x = (float *)ml_in(c, 0); /* `take` only reads it */
    for (int64_t i = block->first; i < block->first + block->count; i++) {
        const int64_t line = i / w->out, plane = line / h->out;
        const int64_t at[AXES] = {plane % d->out, line % h->out, i % w->out};
        row = walk_window(b, at, x + plane / d->out * volume, row, b->channels, take);
    }
}

static ml_status conv_3d(const ml_call *c) {
    const conv_3d_params *p = c->params;
    return ml_multiply_floats(c, &((const conv_3d_blob *)c->blob)->blocks, NULL, gather, p->minimum,
                              p->maximum);
}

/* CONV_3D_TRANSPOSE ---------------------------------------------------------------------------- */

/* Ranks are checked. */
static ml_transposed transposed_3d(const ml_call *c, const conv_3d_params *p) {
    const ml_shape *w = &ml_input(c, 1)->shape;
    const int64_t dilations[AXES] = {p->dilation_d, p->dilation_h, p->dilation_w};
    ml_transposed t = {.axes = AXES,
                       .outputs = w->dims[3],
                       .same = p->same,
                       .strides = {p->stride_d, p->stride_h, p->stride_w}};
    for (int i = 0; i < AXES; i++) t.extents[i] = (w->dims[i] - (int64_t)1) * dilations[i] + 1;
    return t;
}

static ml_status check_stated_shape(const ml_call *c, void *params) {
    conv_3d_params *p = params;
    if (ml_input(c, 2)->shape.rank != 5 || ml_input(c, 1)->shape.rank != 5) return ML_OK;
    const ml_transposed t = transposed_3d(c, p);
    p->fits_file = ml_transposed_fits(c, &t);
    return ML_OK;
}

static ml_status prepare_transpose(const ml_call *c, ml_wish *wish) {
    const ml_shape *sizes = &ml_input(c, 0)->shape;
    conv_3d_blob *b = c->blob;
    char text[96];
    if (sizes->rank != 1 || sizes->dims[0] != 5)
        return ml_fail(c, ML_SHAPE_ERROR, "the output's shape must be five numbers, it is %s",
                       ml_shape_text(sizes, text));
    const int32_t *value = ml_value(c, 0);
    if (!value) return ml_open(wish, 0);
    ml_shape y;
    ml_status status = check_ranks(c, 2);
    if (status != ML_OK) return status;
    const conv_3d_params *p = c->params;
    const ml_transposed t = transposed_3d(c, p);
    status = ml_transposed_shape(c, &t, p->fits_file, value, &y);
    if (status == ML_OK) status = place_windows(c, 2, y.dims + 1);
    if (status == ML_OK) status = check_bias(c, 3);
    if (status == ML_OK) status = ml_set_output(c, 0, &y);
    if (status != ML_OK) return status;
    /* The product of pixels and filter, some pixels at a time. */
    const int64_t n = ml_elements_of(&ml_input(c, 1)->shape, 0, 4);
    if (n > INT32_MAX || b->channels > INT64_MAX / 16384)
        return ml_fail(c, ML_SHAPE_ERROR, "a filter of %lld values a channel is too large",
                       (long long)n);
    b->blocks = (ml_blocks){
        .rows = ml_elements_of(&ml_input(c, 2)->shape, 0, 4), .k = b->channels, .n = (int32_t)n};
    b->blocks.block = (int32_t)ml_min_s64(b->blocks.rows, 1 + (1 << 18) / (n + 1));
    b->products = ml_reserve(wish, b->blocks.block * n * (int64_t)sizeof(float));
    return ML_OK;
}

static int64_t pack_transpose(const ml_call *c, void *to) {
    const ml_shape *w = &ml_input(c, 1)->shape;
    const int64_t n = ml_elements_of(w, 0, 4), k = w->dims[4];
    if (to) c->env->simd->pack_f32(ml_value(c, 1), n, k, to);
    return ml_packed_f32(c->env->simd, n, k) * (int64_t)sizeof(float);
}

/* Adds a voxel's products for a tap to the output they belong to. */
static inline void give(float *products, float *image, int64_t values) {
    for (int64_t o = 0; image && o < values; o++) image[o] += products[o];
}

static void multiply(const ml_call *c, int64_t first, int64_t count) {
    const conv_3d_blob *b = c->blob;
    const ml_window_axis *d = &b->axes[0], *h = &b->axes[1], *w = &b->axes[2];
    const int64_t volume = (int64_t)d->in * h->in * w->in * b->outputs;
    float *products = ml_scratch(c, b->products);
    const ml_matmul_f32_args product = {
        .a = (const float *)ml_in(c, 2) + first * b->channels,
        .rows = count,
        .a_stride = b->channels,
        .pieces = 1,
        .k = b->channels,
        .n = b->blocks.n,
        .packed = c->packed,
        .y = products,
        .y_stride = b->blocks.n,
        .low = -__builtin_inff(),
        .high = __builtin_inff(),
    };
    c->env->simd->matmul_f32(&product);
    for (int64_t i = first; i < first + count; i++, products += b->blocks.n) {
        const int64_t line = i / w->out, plane = line / h->out;
        const int64_t at[AXES] = {plane % d->out, line % h->out, i % w->out};
        walk_window(b, at, (float *)ml_out(c, 0) + plane / d->out * volume, products, b->outputs,
                    give);
    }
}

/* Adds the bias and clamps. */
static ml_status finish(const ml_call *c, int64_t first, int64_t end, int32_t worker, void *args) {
    const conv_3d_params *p = c->params;
    const int64_t outputs = ((const conv_3d_blob *)c->blob)->outputs;
    const float *bias = ml_in_optional(c, 3);
    float *y = ml_out(c, 0);
    for (int64_t i = first; i < end; i++) {
        const float v = y[i] + (bias ? bias[i % outputs] : 0.0f);
        y[i] = ml_clamp_f32(v, p->minimum, p->maximum);
    }
    return ML_OK;
}

static ml_status conv_3d_transpose(const ml_call *c) {
    const conv_3d_blob *b = c->blob;
    const int64_t bytes = ml_out_tensor(c, 0)->bytes;
    const float nothing = 0.0f;
    ml_status status = ml_fill_bytes(c, ml_out(c, 0), bytes, &nothing, sizeof nothing);
    for (int64_t first = 0, count; first < b->blocks.rows && status == ML_OK; first += count) {
        count = ml_min_s64(b->blocks.block, b->blocks.rows - first);
        multiply(c, first, count);
        if (first + count < b->blocks.rows) status = ml_poll(c);
    }
    if (status != ML_OK) return status;
    return ml_in_blocks(c, bytes / (int64_t)sizeof(float), 1, finish, NULL);
}

static int64_t count_conv_3d(const ml_operand_shapes *of) {
    return ml_times(ml_extent_of_all(of, ML_THE_OUTPUT), ml_extent(of, 1, 0, AXES));
}

static int64_t count_conv_3d_transpose(const ml_operand_shapes *of) {
    return ml_transposed_products(of, 2);
}

ML_KERNELS(conv_3d) = {
    {ML_OP(CONV_3D, 1, 1), .name = "conv_3d", .takes = "x filter bias? -> y",
     ML_PARAMS_OF(conv_3d_params), .blob_bytes = sizeof(conv_3d_blob), .packs = 1,
     .multiply_adds = count_conv_3d, .prepare = prepare_conv_3d,
     ML_TYPED({"f32 f32 f32? -> f32", NULL, pack_conv_3d, conv_3d})},
    {ML_OP(CONV_3D_TRANSPOSE, 1, 1), .name = "conv_3d_transpose",
     .takes = "shape filter x bias? -> y", .check = check_stated_shape,
     ML_PARAMS_OF(conv_3d_params), .blob_bytes = sizeof(conv_3d_blob), .packs = 1,
     .multiply_adds = count_conv_3d_transpose, .prepare = prepare_transpose,
     ML_TYPED({"s32 f32 f32 f32? -> f32", NULL, pack_transpose, conv_3d_transpose})},
    ML_KERNELS_END,
};
