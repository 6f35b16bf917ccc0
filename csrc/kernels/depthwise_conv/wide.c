/* wide.c -- depthwise sums of int16 times int8, in 64 bits. */
#include "kernels/depthwise_conv/depthwise_conv.h"

enum { EXACT_TAPS = 256 };

/* The offset in a worker's scratch of a pixel's 64-bit sums; before them lie the 32-bit sums of
 * some taps. */
static int64_t sums_at(const depthwise_blob *blob) {
    return ml_round_up(blob->outputs * (int64_t)sizeof(int32_t), 64);
}

int64_t ml_depthwise_wide_bytes(const depthwise_blob *blob) {
    return sums_at(blob) + blob->outputs * (int64_t)sizeof(int64_t);
}

/* sums[o] += x[o / multiplier] * filter[o], exact. */
static inline void add_tap_s16(const int16_t *x, const int8_t *filter, int64_t outputs,
                               int64_t multiplier, int32_t *restrict sums) {
    if (multiplier == 1)
        for (int64_t o = 0; o < outputs; o++) sums[o] += x[o] * filter[o];
    else
        for (int64_t o = 0; o < outputs; o++) sums[o] += x[o / multiplier] * filter[o];
}

/* Sums the taps of a pixel. EXACT_TAPS products of at most 2^22 fit into 32 bits. */
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
    char *scratch = ml_worker_scratch(c, worker);
    int64_t n = blob->outputs, *sums = (int64_t *)(void *)(scratch + sums_at(blob));
    int16_t *y = (int16_t *)ml_out(c, 0) + first * w->x.out * n;
    for (int64_t line = first; line < end; line++)
        for (int64_t ox = 0; ox < w->x.out; ox++, y += n) {
            sum_pixel_s16(c, line, ox, (int32_t *)(void *)scratch, sums);
            ml_requantized r = {ml_in_optional(c, 2), sums, 1, 0, n, y, n};
            ml_requantize_wide(c, &r);
        }
    return ML_OK;
}

ml_status ml_depthwise_wide(const ml_call *c) { return ml_depthwise_run(c, 1, lines_s16, NULL); }
