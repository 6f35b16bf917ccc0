/* depthwise_conv.c -- DEPTHWISE_CONV_2D: each input channel has `multiplier` filters of its own. The filter is
 * (1, height, width, outputs), output o belongs to input channel o / multiplier.
 *
 * All types sum in float. For bytes this is exact: a product is at most 255 * 255 and the sum of EXACT_TAPS of them at
 * most 2^24; larger windows are summed piece by piece in integers. Bytes, and channels with several filters, are first
 * written out as lines of one float an output. */
#include "rules/matmul.h"
#include "rules/window.h"

enum { CHUNK = 16, EXACT_TAPS = 256 };

typedef float v4f32 __attribute__((vector_size(16), aligned(4)));

#define DEPTHWISE_FIELDS(X, S) X(S, window, window) ML_CLAMP_FIELDS(X, S)
ML_PARAMS(depthwise_params, DEPTHWISE_FIELDS)

typedef struct depthwise_blob {
    ml_window window;
    int32_t outputs;
    int32_t multiplier;
    int32_t direct; /* the input's lines are the lines to sum */
} depthwise_blob;

/* Floats of the lines of one window row, at the start of scratch. */
static inline int64_t lines_floats(const depthwise_blob *blob) {
    return (int64_t)blob->window.x.in * blob->outputs * blob->window.y.size;
}

/* A worker's scratch: for floats and bytes the lines of one window row as floats; for integers a pixel's sums in floats or 32
 * bits, and those of a line of output in 32 bits, or of a pixel in 64. */
typedef struct layout {
    int64_t piece;
    int64_t sums;
    int64_t bytes;
} layout;

static layout lay_out(const depthwise_blob *blob, int32_t type) {
    int64_t n = blob->outputs, wide = type == ML_S16 ? n * 8 : n * blob->window.x.out * 4;
    layout l = {.piece = blob->direct ? 0 : ml_round_up(lines_floats(blob) * 4, 64)};
    l.sums = l.piece + (type == ML_F32 ? 0 : ml_round_up(n * 4, 64));
    l.bytes = l.sums + (type == ML_F32 ? 0 : wide);
    return l;
}

static ml_status prepare_scratch(const ml_call *c, ml_wish *wish) {
    depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    int32_t type = ml_input(c, 0)->type, longer = w->x.in > w->x.out ? w->x.in : w->x.out;
    int64_t line = (int64_t)longer * blob->outputs, lines;
    blob->direct = type == ML_S16 || (type == ML_F32 && blob->multiplier == 1);
    if (__builtin_mul_overflow(line, w->y.size, &lines) || lines > INT64_MAX / 64)
        return ml_fail(c, ML_SHAPE_ERROR, "lines of %d x %d values are too large", longer,
                       blob->outputs);
    wish->worker_bytes = lay_out(blob, type).bytes;
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
    if (filter->type == ML_S8)
        for (int64_t i = 0; y && i < count; i++) y[i] = (float)(s8[i] - w->w_zero);
    else
        for (int64_t i = 0; y && i < count; i++) y[i] = (float)(u8[i] - 128 - w->w_zero);
    return count * (int64_t)sizeof(float);
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
        .filter_step = (int64_t)w->x.size * blob->outputs,
        .outputs = blob->outputs,
        .tap_step = (int64_t)w->x.dilation * blob->outputs,
        .line_step = (int64_t)w->x.in * blob->outputs,
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
static void store_f32(const float *bias, int64_t count, float low, float high, float *restrict y) {
    for (int64_t i = 0; i < count; i++) {
        float v = y[i] + (bias ? bias[i] : 0.0f);
        v = v < low ? low : v;
        y[i] = v > high ? high : v;
    }
}

static ml_status lines_f32(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                           void *args) {
    const depthwise_params *p = c->params;
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const float *x = ml_in(c, 0), *bias = ml_in_optional(c, 2);
    float *y = (float *)ml_out(c, 0) + first * w->x.out * blob->outputs;
    (void)args;
    for (int64_t line = first; line < end; line++) {
        source s = source_of_line(blob, line, ml_in(c, 1));
        float *lines = ml_worker_scratch(c, worker);
        int64_t batch = line / w->y.out;
        for (int64_t ky = s.down.first; ky < s.down.end && !blob->direct; ky++)
            repeat_f32(x + line_index(w, batch, &s.down, ky), (int64_t)w->x.in * w->channels,
                       blob->multiplier, lines + ky * s.line_step);
        if (blob->direct) s.line_step *= w->y.dilation;
        for (int64_t ox = 0; ox < w->x.out; ox++, y += blob->outputs) {
            aim(&s, blob, blob->direct ? x + line_index(w, batch, &s.down, 0) : lines, ox);
            sum_pixel(&s, y);
            store_f32(bias, blob->outputs, p->minimum, p->maximum, y);
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

static ml_status lines_bytes(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const ml_weighted *derived = c->derived;
    const bool is_signed = ml_in_tensor(c, 0)->type == ML_S8;
    layout l = lay_out(blob, ML_S8);
    char *scratch = ml_worker_scratch(c, worker);
    float *lines = (float *)scratch, *piece = (float *)(scratch + l.piece);
    int32_t *sums = (int32_t *)(scratch + l.sums);
    int64_t n = blob->outputs;
    (void)args;
    for (int64_t line = first; line < end; line++) {
        source s = source_of_line(blob, line, c->packed);
        for (int64_t ky = s.down.first; ky < s.down.end; ky++)
            expand_integer(ml_in(c, 0), is_signed, line_index(w, line / w->y.out, &s.down, ky),
                           (int64_t)w->x.in * w->channels, blob->multiplier, derived->x_zero,
                           lines + ky * s.line_step);
        for (int64_t ox = 0; ox < w->x.out; ox++) {
            aim(&s, blob, lines, ox);
            sum_pixel_integer(&s, sums + ox * n, piece);
        }
        ml_requantized r = {ml_in_optional(c, 2),
                            sums,
                            w->x.out,
                            0,
                            n,
                            (int8_t *)ml_out(c, 0) + line * w->x.out * n,
                            n};
        ml_requantize_sums(c, &r, ML_S8);
    }
    return ML_OK;
}

/* sums[o] += x[o / multiplier] * filter[o], exact. */
static inline void add_tap_s16(const int16_t *x, const int8_t *filter, int64_t outputs,
                               int64_t multiplier, int32_t *restrict sums) {
    if (multiplier == 1)
        for (int64_t o = 0; o < outputs; o++) sums[o] += x[o] * filter[o];
    else
        for (int64_t o = 0; o < outputs; o++) sums[o] += x[o / multiplier] * filter[o];
}

/* A pixel of int16: EXACT_TAPS products of at most 2^22 fit into 32 bits. */
static void sum_pixel_s16(const ml_call *c, int64_t line, int64_t ox, int32_t *piece,
                          int64_t *sums) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    ml_taps down = ml_window_taps(&w->y, line % w->y.out), across = ml_window_taps(&w->x, ox);
    int64_t n = blob->outputs, taps = 0;
    memset(sums, 0, (size_t)n * sizeof *sums);
    memset(piece, 0, (size_t)n * sizeof *piece);
    for (int64_t ky = down.first; ky < down.end; ky++)
        for (int64_t kx = across.first; kx < across.end; kx++) {
            const int16_t *x = (const int16_t *)ml_in(c, 0) +
                               line_index(w, line / w->y.out, &down, ky) +
                               (across.start + kx * w->x.dilation) * w->channels;
            const int8_t *filter = (const int8_t *)ml_in(c, 1) + (ky * w->x.size + kx) * n;
            add_tap_s16(x, filter, n, blob->multiplier, piece);
            if (++taps % EXACT_TAPS == 0)
                for (int64_t o = 0; o < n; o++) sums[o] += piece[o], piece[o] = 0;
        }
    for (int64_t o = 0; o < n; o++) sums[o] += piece[o];
}

static ml_status lines_s16(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                           void *args) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    layout l = lay_out(blob, ML_S16);
    char *scratch = ml_worker_scratch(c, worker);
    int32_t *piece = (int32_t *)(scratch + l.piece);
    int64_t n = blob->outputs, *sums = (int64_t *)(scratch + l.sums);
    int16_t *y = (int16_t *)ml_out(c, 0) + first * w->x.out * n;
    (void)args;
    for (int64_t line = first; line < end; line++)
        for (int64_t ox = 0; ox < w->x.out; ox++, y += n) {
            sum_pixel_s16(c, line, ox, piece, sums);
            ml_requantized r = {ml_in_optional(c, 2), sums, 1, 0, n, y, n};
            ml_requantize_wide(c, &r);
        }
    return ML_OK;
}

/* Lines of output are items of work. */
static ml_status run_lines(const ml_call *c, ml_body body) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    int64_t cost = (int64_t)w->x.out * blob->outputs * w->y.size * w->x.size;
    return ml_parallel(c, (int64_t)w->batches * w->y.out, ml_work_grain(4 * cost), body, NULL);
}

static ml_status depthwise_conv_2d_f32(const ml_call *c) { return run_lines(c, lines_f32); }
static ml_status depthwise_conv_2d_bytes(const ml_call *c) { return run_lines(c, lines_bytes); }
static ml_status depthwise_conv_2d_s16(const ml_call *c) { return run_lines(c, lines_s16); }

#define DERIVE(type, ...)                                                                             \
    static int64_t derive_##type(const ml_call *c, void *to) {                                        \
        static const ml_weighted_rule rule = {.axis = 3, __VA_ARGS__};                                \
        const depthwise_params *p = c->params; \
        return ml_derive_weighted(c, to, &rule, p->minimum, p->maximum); \
    }
DERIVE(s8, .multiplier = ML_MULTIPLIER_FIXED, .symmetric_weights = true)
DERIVE(u8, .multiplier = ML_MULTIPLIER_SINGLE)
DERIVE(s16, .multiplier = ML_MULTIPLIER_FIXED, .symmetric = true)

static const ml_typed depthwise_conv_2d[] = {
    {"f32 f32 f32? -> f32", NULL, NULL, depthwise_conv_2d_f32},
    {"s8 s8 s32? -> s8", derive_s8, pack_bytes, depthwise_conv_2d_bytes},
    {"u8 u8 s32? -> u8", derive_u8, pack_bytes, depthwise_conv_2d_bytes},
    {"s16 s8 s64? -> s16", derive_s16, NULL, depthwise_conv_2d_s16},
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
