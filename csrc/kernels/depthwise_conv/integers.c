/* integers.c -- depthwise sums of integers.
 *
 * Bytes are summed in float, which is exact: a product is at most 255 * 255 and the sum of EXACT_TAPS of them at most 2^24;
 * larger windows are summed piece by piece in integers. They are first written out as lines of one float an output. */
#include "kernels/depthwise_conv/sum.h"

enum { EXACT_TAPS = 256 };

/* y = x - zero, each `multiplier` times. One definition for each type. */
#define EXPAND(type, element)                                                                      \
    static void expand_##type(const element *x, int64_t count, int64_t multiplier, int32_t zero,   \
                              float *restrict y) {                                                 \
        if (multiplier == 1)                                                                       \
            for (int64_t i = 0; i < count; i++) y[i] = (float)(x[i] - zero);                       \
        else                                                                                       \
            for (int64_t i = 0; i < count; i++)                                                    \
                for (int64_t j = 0; j < multiplier; j++) *y++ = (float)(x[i] - zero);              \
    }
EXPAND(s8, int8_t)
EXPAND(u8, uint8_t)
EXPAND(s16, int16_t)

/* The lines that output line `line` sees, as floats. */
static void expand_lines(const ml_call *c, const depthwise_source *s, int64_t batch, float *lines) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const ml_weighted *derived = c->derived;
    int32_t type = ml_in_tensor(c, 0)->type, zero = derived->x_zero;
    int64_t count = (int64_t)w->x.in * w->channels, multiplier = blob->multiplier;
    for (int64_t ky = s->down.first; ky < s->down.end; ky++) {
        int64_t first = ml_depthwise_line(w, batch, &s->down, ky);
        float *to = lines + ky * s->line_step;
        if (type == ML_S8)
            expand_s8((const int8_t *)ml_in(c, 0) + first, count, multiplier, zero, to);
        else if (type == ML_U8)
            expand_u8((const uint8_t *)ml_in(c, 0) + first, count, multiplier, zero, to);
        else expand_s16(ml_quantized_input_of(c).values + first, count, multiplier, 0, to);
    }
}

/* The sums of a pixel as integers: at most EXACT_TAPS taps go through float at a time. */
static void sum_pixel_integer(const depthwise_source *whole, int32_t *restrict sums,
                              float *restrict piece) {
    ml_taps down = whole->down, across = whole->across;
    int64_t width = across.end - across.first, taps = ml_min_s64(width, EXACT_TAPS),
            lines = width ? EXACT_TAPS / taps : 1;
    depthwise_source s = *whole;
    for (int64_t i = 0; i < s.outputs; i++) sums[i] = 0;
    for (int64_t ky = down.first; ky < down.end; ky += lines)
        for (int64_t kx = across.first; kx < across.end; kx += taps) {
            s.down.first = ky;
            s.down.end = ml_min_s64(ky + lines, down.end);
            s.across.first = kx;
            s.across.end = ml_min_s64(kx + taps, across.end);
            ml_depthwise_sum(&s, piece);
            for (int64_t i = 0; i < s.outputs; i++)
                sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)(int32_t)piece[i]);
        }
}

static ml_status lines_bytes(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    const depthwise_params *p = c->params;
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    depthwise_layout l = ml_depthwise_layout(blob);
    char *scratch = ml_worker_scratch(c, worker);
    float *lines = (float *)scratch, *piece = (float *)(scratch + l.piece);
    int32_t *sums = (int32_t *)(scratch + l.sums);
    int64_t n = blob->outputs, pixels = w->x.out;
    bool hybrid = ml_in_tensor(c, 0)->type == ML_F32;
    (void)args;
    for (int64_t line = first; line < end; line++) {
        depthwise_source s = ml_depthwise_source(blob, line, c->packed);
        int64_t batch = line / w->y.out, at = line * pixels * n;
        expand_lines(c, &s, batch, lines);
        for (int64_t ox = 0; ox < pixels; ox++) {
            ml_depthwise_aim(&s, blob, lines, ox);
            sum_pixel_integer(&s, sums + ox * n, piece);
        }
        ml_requantized r = {ml_in_optional(c, 2), sums, pixels, 0, n, NULL, n};
        if (hybrid) {
            r.y = (float *)ml_out(c, 0) + at;
            r.rows = 1; /* the pixels of a line are of one batch: one scale for all of them */
            for (int64_t ox = 0; ox < pixels; ox++, r.y = (float *)r.y + n) {
                r.sums = sums + ox * n;
                ml_scale_sums(c, &r, ml_quantized_input_of(c).scales + batch, ML_SCALES_FIRST,
                              p->minimum, p->maximum);
            }
        } else {
            r.y = (int8_t *)ml_out(c, 0) + at;
            ml_requantize_sums(c, &r, ML_S8);
        }
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
                               ml_depthwise_line(w, line / w->y.out, &down, ky) +
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
    depthwise_layout l = ml_depthwise_layout(blob);
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

ml_status ml_depthwise_bytes(const ml_call *c) { return ml_depthwise_run(c, lines_bytes); }
ml_status ml_depthwise_wide(const ml_call *c) { return ml_depthwise_run(c, lines_s16); }

/* A float input, each batch quantized by itself. */
ml_status ml_depthwise_hybrid(const ml_call *c) {
    ml_quantize_input(c, true);
    return ml_depthwise_run(c, lines_bytes);
}
