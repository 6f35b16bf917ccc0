/* depthwise_conv.c -- DEPTHWISE_CONV_2D: each input channel has `multiplier` filters of its own. The filter is
 * (1, height, width, outputs), output o belongs to input channel o / multiplier. Sums of ML_CHUNK outputs of one pixel stay in registers. */
#include "../fixed_point.h"
#include "../window.h"

enum { CHUNK = 16 };

#define WINDOW_FIELDS(X, S) \
    X(S, i32, same) X(S, i32, stride_h) X(S, i32, stride_w) X(S, i32, dilation_h) X(S, i32, dilation_w)
#define FLOAT_FIELDS(X, S) WINDOW_FIELDS(X, S) X(S, f32, minimum) X(S, f32, maximum)
/* The offset of an input or filter is its zero point. mantissas, shifts: one int32 an output. */
#define INTEGER_FIELDS(X, S)                                                                                     \
    WINDOW_FIELDS(X, S) X(S, i32, minimum) X(S, i32, maximum) X(S, i32, input_offset) X(S, i32, filter_offset) \
    X(S, i32, output_offset) X(S, array, mantissas) X(S, array, shifts)
ML_PARAMS(depthwise_float_params, FLOAT_FIELDS)
ML_PARAMS(depthwise_integer_params, INTEGER_FIELDS)
/* What all kernels' parameters begin with. */
typedef struct window_params {
    WINDOW_FIELDS(ML_MEMBER, window_params)
} window_params;

typedef struct depthwise_blob {
    ml_window window;
    int64_t outputs;
    int64_t multiplier;
} depthwise_blob;

static ml_status prepare_window(ml_prepare *p) {
    depthwise_blob *blob = p->blob;
    const window_params *params = p->params;
    const ml_shape *x = &ml_input(p, 0)->shape, *w = &ml_input(p, 1)->shape;
    const ml_tensor *bias = ml_input(p, 2);
    char text[96];
    if (w->rank != 4 || w->dims[0] != 1)
        return ml_fail(p->error, ML_SHAPE_ERROR, "filter must be (1, height, width, outputs), its shape is %s",
                       ml_shape_text(w, text));
    ml_window *window = &blob->window;
    window->y = (ml_window_axis){.size = w->dims[1], .stride = params->stride_h, .dilation = params->dilation_h};
    window->x = (ml_window_axis){.size = w->dims[2], .stride = params->stride_w, .dilation = params->dilation_w};
    ml_status status = ml_window_prepare(p->error, window, x, params->same);
    if (status != ML_OK) return status;
    if (x->dims[3] <= 0 || w->dims[3] % x->dims[3] != 0)
        return ml_fail(p->error, ML_SHAPE_ERROR, "%d filters are not a multiple of the input depth %d", w->dims[3], x->dims[3]);
    if (bias && ml_elements(&bias->shape) != w->dims[3])
        return ml_fail(p->error, ML_SHAPE_ERROR, "bias of %lld values does not match %d outputs",
                       (long long)ml_elements(&bias->shape), w->dims[3]);
    blob->outputs = w->dims[3];
    blob->multiplier = w->dims[3] / x->dims[3];
    ml_shape y = {4, {x->dims[0], (int32_t)window->y.out, (int32_t)window->x.out, w->dims[3]}};
    return ml_set_shape(p, 0, &y);
}

static ml_status prepare_depthwise_integer(ml_prepare *p) {
    const depthwise_integer_params *params = p->params;
    const depthwise_blob *blob = p->blob;
    ml_status status = prepare_window(p);
    if (status != ML_OK) return status;
    if (params->mantissas.bytes != blob->outputs * (int64_t)sizeof(int32_t))
        return ml_fail(p->error, ML_SHAPE_ERROR, "%lld scales do not match %lld outputs",
                       (long long)(params->mantissas.bytes / (int64_t)sizeof(int32_t)), (long long)blob->outputs);
    return ML_OK;
}

/* A pixel of the output: the taps of its window that lie inside, and where the first line of its batch begins. */
typedef struct pixel {
    ml_taps down;
    ml_taps across;
    int64_t batch;
} pixel;

static inline int64_t input_index(const ml_window *w, const pixel *at, int64_t ky, int64_t kx) {
    int64_t iy = at->down.start + ky * w->y.dilation, ix = at->across.start + kx * w->x.dilation;
    return ((at->batch * w->y.in + iy) * w->x.in + ix) * w->channels;
}

static inline int64_t filter_index(const depthwise_blob *blob, int64_t ky, int64_t kx) {
    return (ky * blob->window.x.size + kx) * blob->outputs;
}

/* Defines name(blob, at, first, width, x, w, sums, ...): sums[j] = sum over the window of x * w, outputs first + j, with
 * inputs and filters read as READ_X and READ_W say. `width` is a constant where it is inlined in the main loop. */
#define SUM_WINDOW(name, element, wide, total, OFFSETS, READ_X, READ_W)                                                \
    __attribute__((always_inline)) static inline void name(const depthwise_blob *blob, const pixel *at, int64_t first,     \
                                                           const int width, const element *x, const element *w,        \
                                                           total *restrict sums OFFSETS) {                             \
        int64_t multiplier = blob->multiplier, channel = first / multiplier, skip = first % multiplier;                \
        for (int j = 0; j < width; j++) sums[j] = 0;                                                                   \
        for (int64_t ky = at->down.first; ky < at->down.end; ky++)                                                     \
            for (int64_t kx = at->across.first; kx < at->across.end; kx++) {                                           \
                const element *source = x + input_index(&blob->window, at, ky, kx) + channel;                          \
                const element *filter = w + filter_index(blob, ky, kx) + first;                                        \
                element repeated[CHUNK];                                                                               \
                if (multiplier > 1) {                                                                                  \
                    int64_t left = multiplier - skip;                                                                  \
                    for (int j = 0; j < width; j++, left--) {                                                          \
                        if (left == 0) source++, left = multiplier;                                                    \
                        repeated[j] = *source;                                                                         \
                    }                                                                                                  \
                    source = repeated;                                                                                 \
                }                                                                                                      \
                for (int j = 0; j < width; j++) {                                                                      \
                    wide a = READ_X(source[j]), b = READ_W(filter[j]);                                                 \
                    sums[j] += a * b;                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
    }
#define COMMA_OFFSETS , int16_t x_offset, int16_t w_offset
#define NO_OFFSETS
#define SAME_VALUE(v) (v)
#define LESS_X_OFFSET(v) (int16_t)((v) - x_offset)
#define LESS_W_OFFSET(v) (int16_t)((v) - w_offset)
SUM_WINDOW(sum_window_f32, float, float, float, NO_OFFSETS, SAME_VALUE, SAME_VALUE)
SUM_WINDOW(sum_window_s8, int8_t, int16_t, int32_t, COMMA_OFFSETS, LESS_X_OFFSET, LESS_W_OFFSET)
SUM_WINDOW(sum_window_u8, uint8_t, int16_t, int32_t, COMMA_OFFSETS, LESS_X_OFFSET, LESS_W_OFFSET)

static inline void store_f32(const depthwise_float_params *p, const float *bias, const float *sums, int64_t first, int width,
                             float *y) {
    float low = p->minimum, high = p->maximum;
    for (int j = 0; j < width; j++) {
        float v = sums[j] + (bias ? bias[first + j] : 0.0f);
        v = v < low ? low : v;
        y[first + j] = v > high ? high : v;
    }
}

/* Bias, TFLite's double rounding (see fixed_point.h), zero point, clamp; the low byte is the same bits for s8 and u8. */
static inline void store_integer(const depthwise_integer_params *p, const int32_t *bias, const int32_t *sums, int64_t first,
                                 int width, int8_t *y) {
    const int32_t *mantissas = p->mantissas.data, *shifts = p->shifts.data;
    for (int j = 0; j < width; j++) {
        uint32_t total = (uint32_t)sums[j] + (bias ? (uint32_t)bias[first + j] : 0);
        int32_t scaled = ml_multiply_quantized((int32_t)total, mantissas[first + j], shifts[first + j]);
        y[first + j] = (int8_t)ml_clamp_s32((int32_t)((uint32_t)scaled + (uint32_t)p->output_offset), p->minimum, p->maximum);
    }
}

/* Defines eval: every pixel of the output, in chunks of outputs. SUM(width) and STORE(width) do one chunk. */
#define EVAL_DEPTHWISE(name, params_type, element, bias_element, total, SUM, STORE)                                    \
    static ml_status name(const ml_call *c) {                                                                          \
        const params_type *params = c->params;                                                                         \
        const depthwise_blob *blob = c->blob;                                                                          \
        const ml_window *window = &blob->window;                                                                       \
        const element *x = ml_in(c, 0), *w = ml_in(c, 1);                                                              \
        const bias_element *bias = ml_in_optional(c, 2);                                                                        \
        element *y = ml_out(c, 0);                                                                                     \
        int64_t lines = window->batches * window->y.out, outputs = blob->outputs;                                      \
        for (int64_t line = 0; line < lines; line++) {                                                                 \
            pixel at = {.down = ml_window_taps(&window->y, line % window->y.out), .batch = line / window->y.out};      \
            for (int64_t ox = 0; ox < window->x.out; ox++, y += outputs) {                                             \
                at.across = ml_window_taps(&window->x, ox);                                                            \
                total sums[CHUNK];                                                                                     \
                int64_t first = 0;                                                                                     \
                for (; first + CHUNK <= outputs; first += CHUNK) {                                                     \
                    SUM(CHUNK);                                                                                        \
                    STORE(CHUNK);                                                                                      \
                }                                                                                                      \
                if (first < outputs) {                                                                                 \
                    SUM((int)(outputs - first));                                                                       \
                    STORE((int)(outputs - first));                                                                     \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        return ML_OK;                                                                                                  \
    }
#define SUM_F32(width) sum_window_f32(blob, &at, first, width, x, w, sums)
#define STORE_F32(width) store_f32(params, bias, sums, first, width, y)
#define X_OFFSET (int16_t) params->input_offset
#define W_OFFSET (int16_t) params->filter_offset
#define SUM_S8(width) sum_window_s8(blob, &at, first, width, x, w, sums, X_OFFSET, W_OFFSET)
#define SUM_U8(width) sum_window_u8(blob, &at, first, width, x, w, sums, X_OFFSET, W_OFFSET)
#define STORE_INTEGER(width) store_integer(params, bias, sums, first, width, (int8_t *)y)
EVAL_DEPTHWISE(depthwise_conv_2d_f32, depthwise_float_params, float, float, float, SUM_F32, STORE_F32)
EVAL_DEPTHWISE(depthwise_conv_2d_s8, depthwise_integer_params, int8_t, int32_t, int32_t, SUM_S8, STORE_INTEGER)
EVAL_DEPTHWISE(depthwise_conv_2d_u8, depthwise_integer_params, uint8_t, int32_t, int32_t, SUM_U8, STORE_INTEGER)

ML_KERNELS(depthwise_conv) = {
    ML_KERNEL("depthwise_conv_2d_f32", depthwise_float_params, sizeof(depthwise_blob), 0, prepare_window,
              depthwise_conv_2d_f32),
    ML_KERNEL("depthwise_conv_2d_s8", depthwise_integer_params, sizeof(depthwise_blob), 0, prepare_depthwise_integer,
              depthwise_conv_2d_s8),
    ML_KERNEL("depthwise_conv_2d_u8", depthwise_integer_params, sizeof(depthwise_blob), 0, prepare_depthwise_integer,
              depthwise_conv_2d_u8),
    ML_KERNELS_END,
};
