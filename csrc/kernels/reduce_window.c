/* reduce_window.c -- REDUCE_WINDOW, STABLEHLO_REDUCE_WINDOW: what the elements in each window come to, beginning with a value. The
 * latter draws elements apart first and pads them, with that same value. */
#include "rules/values.h"

enum { ADD = 1, MULTIPLY, MINIMUM, MAXIMUM, ALL, ANY };

#define REDUCE_WINDOW_FIELDS(X, S)                                                             \
    X(S, i32, function) X(S, array, window) X(S, array, strides) X(S, array, dilations)        \
    X(S, array, base_dilations) X(S, array, padding)
ML_PARAMS(window_params, REDUCE_WINDOW_FIELDS)

typedef struct window_dim {
    int64_t in;
    int64_t out;
    int64_t taps;
    int64_t stride;
    int64_t dilation;
    int64_t apart; /* from element to element: 1 where they are not drawn apart */
    int64_t before; /* padding, may be negative */
    int64_t pitch; /* elements of the input from index to index */
} window_dim;

typedef struct window_blob {
    window_dim dims[ML_MAX_RANK];
    int32_t rank;
} window_blob;

static ml_status place(const ml_call *c, int32_t d, window_dim *w, int64_t after) {
    const int64_t limit = INT32_MAX;
    if (w->taps < 1 || w->stride < 1 || w->dilation < 1 || w->apart < 1 || w->taps > limit ||
        w->stride > limit || w->dilation > limit || w->apart > limit)
        return ml_fail(
            c, ML_SHAPE_ERROR,
            "dimension %d: window %lld, stride %lld, dilations %lld and %lld must be positive", d,
            (long long)w->taps, (long long)w->stride, (long long)w->dilation, (long long)w->apart);
    if (w->before < -limit || w->before > limit || after < -limit || after > limit)
        return ml_fail(c, ML_SHAPE_ERROR, "dimension %d is padded by %lld and %lld", d,
                       (long long)w->before, (long long)after);
    const int64_t extent = (w->taps - 1) * w->dilation + 1;
    const int64_t size = (w->in > 0 ? (w->in - 1) * w->apart + 1 : 0) + w->before + after;
    w->out = size < extent ? 0 : (size - extent) / w->stride + 1;
    return ML_OK;
}

/* Each array has an entry a dimension (padding two), or is missing. */
static ml_status place_all(const ml_call *c, const int64_t *window, const int64_t *strides,
                           const int64_t *dilations, const int64_t *apart, const int64_t *padding) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    window_blob *b = c->blob;
    if (ml_elements(&ml_input(c, 1)->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the value to begin with must be one, there are %lld",
                       (long long)ml_elements(&ml_input(c, 1)->shape));
    ml_shape y = {.rank = 0};
    ml_status status = ML_OK;
    int64_t pitch = 1;
    b->rank = x->rank;
    for (int32_t d = 0; d < x->rank && status == ML_OK; d++) {
        window_dim *w = &b->dims[d];
        *w = (window_dim){.in = x->dims[d],
                          .taps = window[d],
                          .stride = strides[d],
                          .dilation = dilations[d],
                          .apart = apart ? apart[d] : 1,
                          .before = padding ? padding[2 * d] : 0};
        status = place(c, d, w, padding ? padding[2 * d + 1] : 0);
        if (status == ML_OK) status = ml_append_dim(c, &y, w->out);
    }
    for (int32_t d = x->rank - 1; d >= 0; pitch *= x->dims[d--]) b->dims[d].pitch = pitch;
    return status == ML_OK ? ml_set_output(c, 0, &y) : status;
}

static ml_status prepare_stablehlo(const ml_call *c, ml_wish *wish) {
    (void)wish;
    const window_params *p = c->params;
    const int64_t bytes = ml_input(c, 0)->shape.rank * (int64_t)sizeof(int64_t);
    if (bytes == 0 || p->window.bytes != bytes || p->strides.bytes != bytes ||
        p->dilations.bytes != bytes || p->base_dilations.bytes != bytes ||
        p->padding.bytes != 2 * bytes)
        return ml_fail(c, ML_SHAPE_ERROR, "windows of %lld dimensions, the input has %d",
                       (long long)(p->window.bytes / (int64_t)sizeof(int64_t)),
                       ml_input(c, 0)->shape.rank);
    return place_all(c, p->window.data, p->strides.data, p->dilations.data, p->base_dilations.data,
                     p->padding.data);
}

static ml_status prepare_window(const ml_call *c, ml_wish *wish) {
    const int32_t rank = ml_input(c, 0)->shape.rank;
    const int64_t *values[3];
    char text[96];
    for (int i = 0; i < 3; i++) {
        const ml_shape *s = &ml_input(c, 2 + i)->shape;
        if (rank < 1 || s->rank != 1 || s->dims[0] != rank)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "input %d has the shape %s, the input to reduce rank %d", 2 + i,
                           ml_shape_text(s, text), rank);
        values[i] = ml_value(c, 2 + i);
        if (!values[i]) return ml_open(wish, 0);
    }
    return place_all(c, values[0], values[1], values[2], NULL, NULL);
}

/* The element at a place of a dimension that is drawn apart and padded; -1: there is none. */
static inline int64_t element_at(const window_dim *w, int64_t place) {
    const int64_t at = place - w->before;
    return at >= 0 && at % w->apart == 0 && at / w->apart < w->in ? at / w->apart : -1;
}

/* Outputs that are a block of work of some size. */
static int64_t grain_of(const window_blob *b) {
    int64_t taps = 1;
    for (int32_t d = 0; d < b->rank && taps < 1 << 15; d++) taps *= b->dims[d].taps;
    return 1 + (1 << 15) / taps;
}

#define TRUE_OF(v) ((v) != 0)
#define REDUCE_WINDOW(suffix, type, wide, STORE)                                                     \
    static type join_##suffix(type a, type b, int32_t function) {                                    \
        switch (function) {                                                                          \
        case ADD: return (type)STORE((wide)a + (wide)b);                                             \
        case MULTIPLY: return (type)STORE((wide)a * (wide)b);                                        \
        case MINIMUM: return a <= b ? a : b;                                                         \
        case MAXIMUM: return a >= b ? a : b;                                                         \
        case ALL: return (type)(a != 0 && b != 0);                                                   \
        default: return (type)(a != 0 || b != 0);                                                    \
        }                                                                                            \
    }                                                                                                \
    /* `x`: where the dimensions before this one lead to; NULL: outside. */                          \
    static type reduce_##suffix(const ml_call *c, int32_t d, const int64_t *at, const type *x,       \
                                type value, type start) {                                            \
        const window_blob *b = c->blob;                                                              \
        const int32_t function = ((const window_params *)c->params)->function;                       \
        const window_dim *w = &b->dims[d];                                                           \
        for (int64_t t = 0; t < w->taps; t++) {                                                      \
            const int64_t i = element_at(w, at[d] * w->stride + t * w->dilation);                    \
            const type *next = x && i >= 0 ? x + i * w->pitch : NULL;                                \
            if (d + 1 < b->rank) value = reduce_##suffix(c, d + 1, at, next, value, start);          \
            else value = join_##suffix(value, next ? *next : start, function);                       \
        }                                                                                            \
        return value;                                                                                \
    }                                                                                                \
    static ml_status some_##suffix(const ml_call *c, int64_t first, int64_t end, int32_t worker,     \
                                   void *args) {                                                     \
        (void)worker;                                                                                \
        (void)args;                                                                                  \
        const window_blob *b = c->blob;                                                              \
        const type start = *(const type *)ml_in(c, 1);                                               \
        type *y = ml_out(c, 0);                                                                      \
        for (int64_t i = first; i < end; i++) {                                                      \
            int64_t at[ML_MAX_RANK] = {0}, rest = i;                                                 \
            for (int32_t d = b->rank - 1; d >= 0; rest /= b->dims[d--].out)                          \
                at[d] = rest % b->dims[d].out;                                                       \
            y[i] = reduce_##suffix(c, 0, at, ml_in(c, 0), start, start);                             \
        }                                                                                            \
        return ML_OK;                                                                                \
    }                                                                                                \
    static ml_status reduce_window_##suffix(const ml_call *c) {                                      \
        return ml_parallel(c, ml_elements(&ml_out_tensor(c, 0)->shape), grain_of(c->blob),           \
                           some_##suffix, NULL);                                                     \
    }
#define KEEP(v) (v)
REDUCE_WINDOW(f32, float, float, KEEP)
REDUCE_WINDOW(f64, double, double, KEEP)
REDUCE_WINDOW(b8, uint8_t, uint32_t, TRUE_OF)
REDUCE_WINDOW(s8, int8_t, uint32_t, KEEP)
REDUCE_WINDOW(u8, uint8_t, uint32_t, KEEP)
REDUCE_WINDOW(s16, int16_t, uint32_t, KEEP)
REDUCE_WINDOW(s32, int32_t, uint32_t, KEEP)
REDUCE_WINDOW(s64, int64_t, uint64_t, KEEP)

#define ROW(kind, more) {#kind " " #kind more " -> " #kind, NULL, NULL, reduce_window_##kind}
#define ROWS(more)                                                                            \
    ML_TYPED(ROW(f32, more), ROW(f64, more), ROW(b8, more), ROW(s8, more), ROW(u8, more),     \
             ROW(s16, more), ROW(s32, more), ROW(s64, more))
#define KERNEL(kernel_name, prepare_fn, more)                                                 \
    {.abi = ML_KERNEL_ABI, .name = (kernel_name), ML_PARAMS_OF(window_params),                \
     .blob_bytes = (int32_t)sizeof(window_blob), .prepare = (prepare_fn), ROWS(more)}
ML_KERNELS(reduce_window) = {
    KERNEL("reduce_window", prepare_window, " s64 s64 s64"),
    KERNEL("stablehlo_reduce_window", prepare_stablehlo, ""),
    ML_KERNELS_END,
};
