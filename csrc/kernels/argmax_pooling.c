/* argmax_pooling.c -- MaxPoolingWithArgmax2D: the maximum of each window, windows side by side, and which of its elements it is.
 * MaxUnpooling2D: windows of zeros but for one element each, which such a number names. Elements are counted down a window's
 * columns, one after the other, and their numbers are integers whatever the tensor's type, as in XNNPACK. */
#include "rules/values.h"
#include "rules/window.h"
#include "rules/work.h"

#define ARGMAX_FIELDS(X, S) X(S, i32, same) X(S, i32, filter_h) X(S, i32, filter_w)
ML_PARAMS(argmax_params, ARGMAX_FIELDS)

static ml_status prepare_argmax(const ml_call *c, ml_wish *wish) {
    (void)wish;
    const argmax_params *p = c->params;
    ml_window *w = c->blob;
    w->y = (ml_window_axis){.size = p->filter_h, .stride = p->filter_h, .dilation = 1};
    w->x = (ml_window_axis){.size = p->filter_w, .stride = p->filter_w, .dilation = 1};
    ml_status status = ml_window_prepare(c, w, p->same);
    if (status != ML_OK) return status;
    const ml_shape y = {4, {w->batches, w->y.out, w->x.out, w->channels}};
    status = ml_set_output(c, 0, &y);
    return status == ML_OK ? ml_set_output(c, 1, &y) : status;
}

/* What lies outside stands for the nearest element inside. */
static inline int64_t inside(const ml_window_axis *a, int64_t out, int64_t tap) {
    const int64_t at = out * a->stride - a->before + tap;
    return at < 0 ? 0 : at >= a->in ? a->in - 1 : at;
}

static ml_status pool_lines(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    (void)worker;
    (void)args;
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
                for (int64_t k = 0; k < depth; k++)
                    if (t == 0 || x[k] > y[k]) y[k] = x[k], which[k] = t;
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
    (void)wish;
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

static ml_status unpool(const ml_call *c) {
    const argmax_params *p = c->params;
    const ml_shape *shape = &ml_in_tensor(c, 0)->shape;
    const int64_t high = shape->dims[1], wide = shape->dims[2], depth = shape->dims[3];
    const int64_t count = ml_elements(shape), taps = (int64_t)p->filter_h * p->filter_w;
    const float *x = ml_in(c, 0);
    const int32_t *which = ml_in(c, 1);
    float *y = ml_out(c, 0);
    const float nothing = 0.0f;
    int64_t work = 0;
    ml_status status = ml_fill_bytes(c, y, ml_out_tensor(c, 0)->bytes, &nothing, 4);
    for (int64_t i = 0; i < count && status == ML_OK; i++) {
        if (which[i] < 0 || which[i] >= taps)
            return ml_fail(c, ML_KERNEL_ERROR, "index %lld is %d, expected 0 to %lld", (long long)i,
                           which[i], (long long)taps - 1);
        const int64_t k = i % depth, ix = i / depth % wide, iy = i / depth / wide % high;
        const int64_t row =
            (i / depth / wide / high * high + iy) * p->filter_h + which[i] % p->filter_h;
        y[(row * wide * p->filter_w + ix * p->filter_w + which[i] / p->filter_h) * depth + k] =
            x[i];
        status = ml_count_work(c, 1, &work);
    }
    return status;
}

ML_KERNELS(argmax_pooling) = {
    {.abi = ML_KERNEL_ABI,
     .name = "max_pooling_with_argmax_2d",
     ML_PARAMS_OF(argmax_params),
     .blob_bytes = sizeof(ml_window),
     .prepare = prepare_argmax,
     ML_TYPED({"f32 -> f32 f32|s32", NULL, NULL, argmax_pool})},
    {.abi = ML_KERNEL_ABI,
     .name = "max_unpooling_2d",
     ML_PARAMS_OF(argmax_params),
     .prepare = prepare_unpool,
     ML_TYPED({"f32 f32|s32 -> f32", NULL, NULL, unpool})},
    ML_KERNELS_END,
};
