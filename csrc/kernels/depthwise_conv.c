/* depthwise_conv.c -- DEPTHWISE_CONV_2D: each input channel has `multiplier` filters of its own. The filter is
 * (1, height, width, outputs), output o belongs to input channel o / multiplier.
 *
 * All types sum in float. For bytes this is exact: a product is at most 255 * 255 and the sum of EXACT_TAPS of them at
 * most 2^24; larger windows are summed piece by piece in integers. Bytes, and channels with several filters, are first
 * written out as lines of one float an output. */
#include "math/fixed_point.h"
#include "rules/window.h"

enum { CHUNK = 16, EXACT_TAPS = 256 };

typedef float v4f32 __attribute__((vector_size(16), aligned(4)));

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
    int64_t filter_floats; /* where in scratch the filter as floats begins */
    int64_t
        piece_floats; /* where in scratch sums of one pixel begin, as floats, then as integers */
    bool direct; /* the input's lines are the lines to sum */
} depthwise_blob;

static ml_status prepare_window(const ml_call *c) {
    depthwise_blob *blob = c->blob;
    const window_params *params = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape, *w = &ml_input(c, 1)->shape;
    const ml_tensor *bias = ml_input(c, 2);
    char text[96];
    if (w->rank != 4 || w->dims[0] != 1)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "filter must be (1, height, width, outputs), its shape is %s",
                       ml_shape_text(w, text));
    ml_window *window = &blob->window;
    window->y = (ml_window_axis){
        .size = w->dims[1], .stride = params->stride_h, .dilation = params->dilation_h};
    window->x = (ml_window_axis){
        .size = w->dims[2], .stride = params->stride_w, .dilation = params->dilation_w};
    ml_status status = ml_window_prepare(c, window, x, params->same);
    if (status != ML_OK) return status;
    if (x->dims[3] <= 0 || w->dims[3] % x->dims[3] != 0)
        return ml_fail(c, ML_SHAPE_ERROR, "%d filters are not a multiple of the input depth %d",
                       w->dims[3], x->dims[3]);
    if (bias && ml_elements(&bias->shape) != w->dims[3])
        return ml_fail(c, ML_SHAPE_ERROR, "bias of %lld values does not match %d outputs",
                       (long long)ml_elements(&bias->shape), w->dims[3]);
    blob->outputs = w->dims[3];
    blob->multiplier = w->dims[3] / x->dims[3];
    ml_shape y = {4, {x->dims[0], (int32_t)window->y.out, (int32_t)window->x.out, w->dims[3]}};
    return ml_set_output(c, 0, &y);
}

/* Scratch: the lines of one window row, and for integers the filter and a pixel's sums, all as floats. */
static ml_status prepare_scratch(const ml_call *c, ml_wish *wish, bool integer) {
    depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    blob->direct = !integer && blob->multiplier == 1;
    if (blob->direct) return ML_OK;
    int64_t line, lines, filter = w->y.size * w->x.size * blob->outputs;
    if (__builtin_mul_overflow(w->x.in, blob->outputs, &line) ||
        __builtin_mul_overflow(line, w->y.size, &lines) || lines > INT64_MAX / 64 ||
        filter > INT64_MAX / 64)
        return ml_fail(c, ML_SHAPE_ERROR, "lines of %lld x %lld values are too large",
                       (long long)w->x.in, (long long)blob->outputs);
    blob->filter_floats = lines;
    blob->piece_floats = lines + filter;
    wish->scratch_bytes =
        (integer ? blob->piece_floats + 2 * blob->outputs : lines) * (int64_t)sizeof(float);
    return ML_OK;
}

static ml_status prepare_depthwise_f32(const ml_call *c, ml_wish *wish) {
    ml_status status = prepare_window(c);
    return status == ML_OK ? prepare_scratch(c, wish, false) : status;
}

static ml_status prepare_depthwise_integer(const ml_call *c, ml_wish *wish) {
    const depthwise_integer_params *params = c->params;
    const depthwise_blob *blob = c->blob;
    ml_status status = prepare_window(c);
    if (status != ML_OK) return status;
    if (params->mantissas.bytes != blob->outputs * (int64_t)sizeof(int32_t))
        return ml_fail(c, ML_SHAPE_ERROR, "%lld scales do not match %lld outputs",
                       (long long)(params->mantissas.bytes / (int64_t)sizeof(int32_t)),
                       (long long)blob->outputs);
    return prepare_scratch(c, wish, true);
}

/* The window of one pixel: lines `line_step` floats apart, taps in them `tap_step` apart, from `x` (line 0, tap 0). The
 * filter's lines are `filter_step` apart, its taps `outputs`. Taps outside the input are left out. */
typedef struct source {
    const float *x;
    const float *filter;
    int64_t line_step;
    int64_t tap_step;
    int64_t filter_step;
    int64_t outputs;
    ml_taps down;
    ml_taps across;
} source;

/* sums[j] = sum over the window of x * filter, outputs first .. first + 4 * vectors - 1; `vectors` is a constant. */
__attribute__((always_inline)) static inline void sum_vectors(const source *s, int64_t first,
                                                              const int vectors, float *sums) {
    v4f32 sum[CHUNK / 4] = {0};
    for (int64_t ky = s->down.first; ky < s->down.end; ky++) {
        const float *x = s->x + ky * s->line_step + s->across.first * s->tap_step + first;
        const float *w = s->filter + ky * s->filter_step + s->across.first * s->outputs + first;
        for (int64_t kx = s->across.first; kx < s->across.end;
             kx++, x += s->tap_step, w += s->outputs) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                sum[v] += *(const v4f32 *)(x + 4 * v) * *(const v4f32 *)(w + 4 * v);
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) *(v4f32 *)(sums + 4 * v) = sum[v];
}

static void sum_pixel(const source *s, float *sums) {
    int64_t first = 0;
    for (; first + CHUNK <= s->outputs; first += CHUNK)
        sum_vectors(s, first, CHUNK / 4, sums + first);
    for (; first + 4 <= s->outputs; first += 4) sum_vectors(s, first, 1, sums + first);
    for (; first < s->outputs; first++) {
        float sum = 0.0f;
        for (int64_t ky = s->down.first; ky < s->down.end; ky++)
            for (int64_t kx = s->across.first; kx < s->across.end; kx++)
                sum += s->x[ky * s->line_step + kx * s->tap_step + first] *
                       s->filter[ky * s->filter_step + kx * s->outputs + first];
        sums[first] = sum;
    }
}

/* Points `s` at the window of output pixel (line, ox), whose lines begin at `lines`. */
static inline void aim(source *s, const depthwise_blob *blob, const float *lines, int64_t ox) {
    s->across = ml_window_taps(&blob->window.x, ox);
    s->x = lines + s->across.start * s->outputs;
}

/* A source for all pixels of output line `line`, counted over all batches. */
static source source_of_line(const depthwise_blob *blob, int64_t line, const float *filter) {
    const ml_window *w = &blob->window;
    return (source){
        .filter = filter,
        .filter_step = w->x.size * blob->outputs,
        .outputs = blob->outputs,
        .tap_step = w->x.dilation * blob->outputs,
        .line_step = w->x.in * blob->outputs,
        .down = ml_window_taps(&w->y, line % w->y.out),
    };
}

/* Index of the first value of input line `ky` of the window row `down` of batch `batch`. */
static inline int64_t line_index(const ml_window *w, int64_t batch, const ml_taps *down,
                                 int64_t ky) {
    return (batch * w->y.in + down->start + ky * w->y.dilation) * w->x.in * w->channels;
}

static void repeat_f32(const float *x, int64_t count, int64_t multiplier, float *y) {
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < multiplier; j++) *y++ = x[i];
}

/* y = min(max(sums + bias, low), high). */
static void store_f32(const depthwise_float_params *p, const float *bias, int64_t count,
                      float *restrict y) {
    float low = p->minimum, high = p->maximum;
    for (int64_t i = 0; i < count; i++) {
        float v = y[i] + (bias ? bias[i] : 0.0f);
        v = v < low ? low : v;
        y[i] = v > high ? high : v;
    }
}

static ml_status depthwise_conv_2d_f32(const ml_call *c) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const float *x = ml_in(c, 0), *bias = ml_in_optional(c, 2);
    float *y = ml_out(c, 0);
    for (int64_t line = 0; line < w->batches * w->y.out; line++) {
        source s = source_of_line(blob, line, ml_in(c, 1));
        const float *lines = c->scratch;
        int64_t batch = line / w->y.out;
        if (blob->direct) {
            lines = x + line_index(w, batch, &s.down, 0);
            s.line_step *= w->y.dilation;
        } else {
            for (int64_t ky = s.down.first; ky < s.down.end; ky++)
                repeat_f32(x + line_index(w, batch, &s.down, ky), w->x.in * w->channels,
                           blob->multiplier, (float *)c->scratch + ky * s.line_step);
        }
        for (int64_t ox = 0; ox < w->x.out; ox++, y += blob->outputs) {
            aim(&s, blob, lines, ox);
            sum_pixel(&s, y);
            store_f32(c->params, bias, blob->outputs, y);
        }
    }
    return ML_OK;
}

/* y = x - zero, each `multiplier` times. */
static void expand_integer(const void *x, bool is_signed, int64_t first, int64_t count,
                           int64_t multiplier, int32_t zero, float *restrict y) {
    const int8_t *s8 = (const int8_t *)x + first;
    const uint8_t *u8 = (const uint8_t *)x + first;
    if (multiplier == 1 && is_signed)
        for (int64_t i = 0; i < count; i++) y[i] = (float)(s8[i] - zero);
    else if (multiplier == 1)
        for (int64_t i = 0; i < count; i++) y[i] = (float)(u8[i] - zero);
    else
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < multiplier; j++)
                *y++ = (float)((is_signed ? s8[i] : u8[i]) - zero);
}

/* The sums of a pixel as integers: at most EXACT_TAPS taps go through float at a time. */
static void sum_pixel_integer(const source *whole, int32_t *restrict sums, float *restrict piece) {
    ml_taps down = whole->down, across = whole->across;
    int64_t width = across.end - across.first, taps = ml_min_s64(width, EXACT_TAPS),
            lines = width ? EXACT_TAPS / taps : 1;
    source s = *whole;
    for (int64_t i = 0; i < s.outputs; i++) sums[i] = 0;
    for (int64_t ky = down.first; ky < down.end; ky += lines)
        for (int64_t kx = across.first; kx < across.end; kx += taps) {
            s.down.first = ky;
            s.down.end = ml_min_s64(ky + lines, down.end);
            s.across.first = kx;
            s.across.end = ml_min_s64(kx + taps, across.end);
            sum_pixel(&s, piece);
            for (int64_t i = 0; i < s.outputs; i++)
                sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)(int32_t)piece[i]);
        }
}

static ml_status depthwise_integer(const ml_call *c, const bool is_signed) {
    const depthwise_integer_params *p = c->params;
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    float *lines = c->scratch, *filter = lines + blob->filter_floats,
          *piece = lines + blob->piece_floats;
    int32_t *sums = (int32_t *)(piece + blob->outputs);
    int8_t *y = ml_out(c, 0);
    ml_requantizer to_output = {ml_in_optional(c, 2), p->mantissas.data, p->shifts.data,
                                p->output_offset,     p->minimum,        p->maximum};
    expand_integer(ml_in(c, 1), is_signed, 0, blob->piece_floats - blob->filter_floats, 1,
                   p->filter_offset, filter);
    for (int64_t line = 0; line < w->batches * w->y.out; line++) {
        source s = source_of_line(blob, line, filter);
        for (int64_t ky = s.down.first; ky < s.down.end; ky++)
            expand_integer(ml_in(c, 0), is_signed, line_index(w, line / w->y.out, &s.down, ky),
                           w->x.in * w->channels, blob->multiplier, p->input_offset,
                           lines + ky * s.line_step);
        for (int64_t ox = 0; ox < w->x.out; ox++, y += blob->outputs) {
            aim(&s, blob, lines, ox);
            sum_pixel_integer(&s, sums, piece);
            ml_requantize(&to_output, sums, 0, blob->outputs, y);
        }
    }
    return ML_OK;
}

static ml_status depthwise_conv_2d_s8(const ml_call *c) { return depthwise_integer(c, true); }
static ml_status depthwise_conv_2d_u8(const ml_call *c) { return depthwise_integer(c, false); }

ML_KERNELS(depthwise_conv) = {
    ML_KERNEL("depthwise_conv_2d_f32", depthwise_float_params, sizeof(depthwise_blob), 0,
              prepare_depthwise_f32, depthwise_conv_2d_f32),
    ML_KERNEL("depthwise_conv_2d_s8", depthwise_integer_params, sizeof(depthwise_blob), 0,
              prepare_depthwise_integer, depthwise_conv_2d_s8),
    ML_KERNEL("depthwise_conv_2d_u8", depthwise_integer_params, sizeof(depthwise_blob), 0,
              prepare_depthwise_integer, depthwise_conv_2d_u8),
    /* int16 with int8 weights: shapes here, arithmetic in numpy. */
    ML_KERNEL("depthwise_conv_2d_s16", depthwise_integer_params, sizeof(depthwise_blob), 0,
              prepare_depthwise_integer, NULL),
    ML_KERNELS_END,
};
