/* argmax_pooling.c -- MaxPoolingWithArgmax2D: the maximum of each of adjacent windows, and its
 * position in the window. MaxUnpooling2D: the reverse; all other elements of a window are 0.
 * Positions are counted down the columns of a window, one column after the other; they are stored
 * as integers whatever the tensor's type, as in XNNPACK. */
#include "rules/values.h"
#include "rules/window.h"
#include "rules/work.h"

#define ARGMAX_FIELDS(X, S) \
    X(S, i32, same, ML_BY_CHECK) X(S, i32, filter_h, ML_BY_CHECK) X(S, i32, filter_w, ML_BY_CHECK)
ML_PARAMS(argmax_params, ARGMAX_FIELDS)

static ml_status prepare_argmax(const ml_call *c, ml_wish *wish) {
    const argmax_params *p = c->params;
    ml_window *w = c->blob;
    w->y = (ml_window_axis){.size = p->filter_h, .stride = p->filter_h, .dilation = 1};
    w->x = (ml_window_axis){.size = p->filter_w, .stride = p->filter_w, .dilation = 1};
    ml_status status = ml_window_prepare(c, w, &(ml_window_params){.same = p->same});
    if (status != ML_OK) return status;
    const ml_shape y = {4, {w->batches, w->y.out, w->x.out, w->channels}};
    status = ml_set_output(c, 0, &y);
    return status == ML_OK ? ml_set_output(c, 1, &y) : status;
}

/* Outside the input, the nearest element inside is used. */
static inline int64_t inside(const ml_window_axis *a, int64_t out, int64_t tap) {
    const int64_t at = out * a->stride - a->before + tap;
    return at < 0 ? 0 : at >= a->in ? a->in - 1 : at;
}

/* Takes element `tap` of a window, for `depth` channels, if it is larger than those before. */
static void take_larger(const float *restrict x, int64_t depth, int32_t tap, float *restrict y,
                        int32_t *restrict which) {
    if (tap == 0) {
        memcpy(y, x, (size_t)depth * sizeof *y);
        memset(which, 0, (size_t)depth * sizeof *which);
        return;
    }
    for (int64_t k = 0; k < depth; k++) {
        const float value = x[k], most = y[k];
        const int32_t larger = -(value > most); /* all bits: for a choice GCC would make branches */
        which[k] ^= (which[k] ^ tap) & larger;
        y[k] = value > most ? value : most;
    }
}

static ml_status pool_lines(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const ml_window *w = c->blob;
    const int64_t depth = w->channels;
    for (int64_t line = first; line < end; line++) {
        const float *image =
            (const float *)ml_in(c, 0) + line / w->y.out * w->y.in * w->x.in * depth;
        for (int64_t ox = 0; ox < w->x.out; ox++) {
            float *y = (float *)ml_out(c, 0) + (line * w->x.out + ox) * depth;
            int32_t *which = (int32_t *)ml_out(c, 1) + (line * w->x.out + ox) * depth;
            for (int32_t t = 0; t < w->x.size * w->y.size; t++) {
                const int64_t iy = inside(&w->y, line % w->y.out, t % w->y.size);
                const int64_t ix = inside(&w->x, ox, t / w->y.size);
                const float *x = image + (iy * w->x.in + ix) * depth;
                take_larger(x, depth, t, y, which);
            }
        }
    }
    return ML_OK;
}

static ml_status argmax_pool(const ml_call *c) {
    const ml_window *w = c->blob;
    const int64_t cost = (int64_t)w->x.out * w->x.size * w->y.size * w->channels;
    return ml_parallel(c, (int64_t)w->batches * w->y.out, 1 + (1 << 15) / (cost + 1), pool_lines,
                       NULL);
}

static ml_status prepare_unpool(const ml_call *c, ml_wish *wish) {
    const argmax_params *p = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape, *which = &ml_input(c, 1)->shape;
    char one[96], other[96];
    if (x->rank != 4 || !ml_same_shape(x, which))
        return ml_fail(
            c, ML_SHAPE_ERROR,
            "values of shape %s and indices of %s must both be (batch, height, width, channels)",
            ml_shape_text(x, one), ml_shape_text(which, other));
    const int64_t sizes[4] = {x->dims[0], (int64_t)x->dims[1] * p->filter_h,
                              (int64_t)x->dims[2] * p->filter_w, x->dims[3]};
    ml_shape y = {.rank = 0};
    ml_status status = ML_OK;
    for (int d = 0; d < 4 && status == ML_OK; d++) status = ml_append_dim(c, &y, sizes[d]);
    return status == ML_OK ? ml_set_output(c, 0, &y) : status;
}

/* Writes the elements of a pixel, from number `first` on, to their places in `window`, whose rows
 * are `pitch` elements apart. */
static ml_status unpool_one(const ml_call *c, int64_t first, int64_t taps, int64_t pitch,
                            float *window) {
    const argmax_params *p = c->params;
    const int64_t depth = ml_in_tensor(c, 0)->shape.dims[3];
    const float *x = (const float *)ml_in(c, 0) + first;
    const int32_t *which = (const int32_t *)ml_in(c, 1) + first;
    const uint32_t high = (uint32_t)p->filter_h;
    for (int64_t k = 0; k < depth; k++) {
        const uint32_t tap = (uint32_t)which[k];
        if (tap >= (uint64_t)taps)
            return ml_fail(c, ML_KERNEL_ERROR, "index %lld is %d, expected 0 to %lld",
                           (long long)(first + k), which[k], (long long)taps - 1);
        window[tap % high * pitch + tap / high * depth + k] = x[k];
    }
    return ML_OK;
}

static ml_status unpool(const ml_call *c) {
    const argmax_params *p = c->params;
    const ml_shape *shape = &ml_in_tensor(c, 0)->shape;
    const int64_t high = shape->dims[1], wide = shape->dims[2], depth = shape->dims[3];
    const int64_t rows = shape->dims[0] * high, taps = (int64_t)p->filter_h * p->filter_w;
    float *y = ml_out(c, 0);
    const float nothing = 0.0f;
    int64_t work = 0;
    ml_status status = ml_fill_bytes(c, y, ml_out_tensor(c, 0)->bytes, &nothing, 4);
    for (int64_t i = 0; i < rows * wide && status == ML_OK; i++) {
        float *window = y + (i / wide * p->filter_h * wide + i % wide) * p->filter_w * depth;
        status = unpool_one(c, i * depth, taps, wide * p->filter_w * depth, window);
        if (status == ML_OK) status = ml_count_work(c, depth, &work);
    }
    return status;
}

/* The options are a C struct: padding, strides, the window, and an activation if the struct is long
 * enough. */
static ml_status read_options(const ml_call *c, argmax_params *p, int32_t *padding) {
    enum { PADDING, STRIDE_W, STRIDE_H, FILTER_W, FILTER_H, ACTIVATION, OPTIONS };
    int32_t options[OPTIONS] = {0};
    int64_t bytes;
    const uint8_t *from = c->env->core->custom_options(c, &bytes);
    if (bytes < 20)
        return ml_fail(c, ML_UNSUPPORTED, "custom options of %lld bytes, expected 20 or more",
                       (long long)bytes);
    memcpy(options, from, bytes < 24 ? 20 : 24);
    *padding = options[PADDING];
    p->filter_h = options[FILTER_H];
    p->filter_w = options[FILTER_W];
    p->same = *padding == ML_CUSTOM_SAME;
    if (options[STRIDE_H] != p->filter_h || options[STRIDE_W] != p->filter_w)
        return ml_fail(c, ML_UNSUPPORTED, "strides %d, %d of windows %d, %d must be equal",
                       options[STRIDE_H], options[STRIDE_W], p->filter_h, p->filter_w);
    if (options[ACTIVATION])
        return ml_fail(c, ML_UNSUPPORTED, "fused activation %d is not supported",
                       options[ACTIVATION]);
    if (*padding != ML_CUSTOM_SAME && *padding != ML_CUSTOM_VALID)
        return ml_fail(c, ML_UNSUPPORTED, "padding must be SAME or VALID, it is %d", *padding);
    if (p->filter_h <= 0 || p->filter_w <= 0)
        return ml_fail(c, ML_UNSUPPORTED, "%s must be positive, it is %d",
                       p->filter_h <= 0 ? "filter_h" : "filter_w",
                       p->filter_h <= 0 ? p->filter_h : p->filter_w);
    return ML_OK;
}
static ml_status check_pooling(const ml_call *c, void *params) {
    int32_t padding = 0;
    return read_options(c, params, &padding);
}
static ml_status check_unpooling(const ml_call *c, void *params) {
    int32_t padding = 0;
    ml_status status = read_options(c, params, &padding);
    if (status != ML_OK || padding == ML_CUSTOM_VALID) return status;
    return ml_fail(c, ML_UNSUPPORTED, "padding must be VALID, it is SAME");
}

ML_KERNELS(argmax_pooling) = {
    {ML_CUSTOM_OP("MaxPoolingWithArgmax2D", 1, 1), .name = "max_pooling_with_argmax_2d",
     .takes = "x -> y indices", .check = check_pooling, ML_PARAMS_OF(argmax_params),
     .blob_bytes = sizeof(ml_window), .prepare = prepare_argmax,
     ML_TYPED({"f32 -> f32 f32|s32", NULL, NULL, argmax_pool})},
    {ML_CUSTOM_OP("MaxUnpooling2D", 1, 1), .name = "max_unpooling_2d", .takes = "x indices -> y",
     .check = check_unpooling, ML_PARAMS_OF(argmax_params), .prepare = prepare_unpool,
     ML_TYPED({"f32 f32|s32 -> f32", NULL, NULL, unpool})},
    ML_KERNELS_END,
};
