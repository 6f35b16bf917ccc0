/* floats.c -- depthwise convolution of floats. Lines outside the input are left out, pixels at its
 * edges taken apart: those of rows that see the same taps in one call, for an edge's few pixels
 * take less time than a call.
 *
 * Where there are few channels, neighbouring pixels of windows that move by one lie side by side
 * with them, and are taken for one pixel of as many channels as fill a panel: its weights are
 * repeated, and its next tap is still a pixel further. */
#include "kernels/depthwise_conv/depthwise_conv.h"

enum { ROWS = 8 /* in one call */ };

int64_t ml_depthwise_pack_floats(const ml_call *c, void *to) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const int64_t taps = (int64_t)w->y.size * w->x.size, n = blob->outputs;
    const int64_t bytes = ml_depthwise_packed_bytes(c, w->y.size);
    const float *weights = ml_value(c, 1);
    const int64_t side = n * ml_depthwise_side(n);
    float *packed = to;
    for (int64_t panel = 0; to && panel < n; panel += ML_PANEL_DEPTHWISE)
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t i = panel; i < panel + ML_PANEL_DEPTHWISE; i++)
                *packed++ = i < side ? weights[tap * n + i % n] : 0.0f;
    return bytes;
}

/* Where parts of a worker's scratch lie: pointers to lines, the bias of a panel, and lines of one
 * value an output. */
typedef struct layout {
    int64_t start;
    int64_t repeated;
    int64_t bytes;
} layout;

static layout lay_out(const depthwise_blob *blob) {
    const ml_window *w = &blob->window;
    layout l = {.start = ml_round_up(ROWS * w->y.size * (int64_t)sizeof(void *), 64)};
    l.repeated = l.start + ML_PANEL_DEPTHWISE * (int64_t)sizeof(float);
    const int64_t line = (int64_t)w->x.in * blob->outputs * (int64_t)sizeof(float);
    l.bytes = l.repeated + (blob->multiplier > 1 ? line * w->y.size : 0);
    return l;
}

int64_t ml_depthwise_floats_bytes(const depthwise_blob *blob) { return lay_out(blob).bytes; }

/* Points at the lines that the windows of `rows` rows see, each row as far below the one before as
 * they move. */
static void find_lines(const ml_call *c, int64_t batch, const ml_taps *down, int64_t rows,
                       char *scratch) {
    const ml_window *w = &((const depthwise_blob *)c->blob)->window;
    const int64_t stride = (int64_t)w->y.stride * w->x.in * w->channels;
    const float **lines = (const float **)(void *)scratch;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t ky = down->first; ky < down->end; ky++)
            *lines++ =
                (const float *)ml_in(c, 0) + ml_depthwise_line(w, batch, down, ky) + row * stride;
}

/* Repeats the lines of one row for their filters, and points at what becomes of them. */
static void repeat_lines(const ml_call *c, int64_t count, char *scratch) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const int64_t values = (int64_t)w->x.in * w->channels;
    const float **lines = (const float **)(void *)scratch;
    float *repeated = (float *)(void *)(scratch + lay_out(blob).repeated);
    for (int64_t i = 0; i < count; i++, repeated += values * blob->multiplier) {
        ml_depthwise_repeat(lines[i], values, blob->multiplier, repeated);
        lines[i] = repeated;
    }
}

/* Neighbouring pixels whose windows have the same taps: first as many as fill panels together. */
static void some_pixels(const ml_call *c, const ml_depthwise_args *one, const float *start,
                        int64_t together) {
    const int64_t panels = together > 1 ? one->pixels / together : 0;
    ml_depthwise_args a = *one;
    if (panels > 0) {
        a.n = a.pixel_step = one->n * together;
        a.pixels = panels;
        a.start = start;
        c->env->simd->depthwise_f32(&a);
    }
    if (one->pixels == panels * together && panels > 0) return;
    a = *one;
    a.pixels -= panels * together;
    a.first += panels * together * one->pixel_step;
    a.y = (float *)a.y + panels * together * one->n;
    c->env->simd->depthwise_f32(&a);
}

/* A panel's bias, where pixels share one; NULL where there is none. */
static const float *repeat_start(const ml_call *c, int64_t n, int64_t together, float *to) {
    const float *bias = ml_in_optional(c, 2);
    if (!bias || together == 1) return bias;
    for (int64_t i = 0; i < n * together; i++) to[i] = bias[i % n];
    return to;
}

static ml_status lines_f32(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                           void *args) {
    const depthwise_params *p = c->params;
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const int64_t n = blob->outputs;
    char *scratch = ml_worker_scratch(c, worker);
    ml_depthwise_args a = {.lines = (const void *const *)(void *)scratch,
                           .tap_step = w->x.dilation * n,
                           .pixel_step = w->x.stride * n,
                           .y_row = w->x.out * n,
                           .n = n,
                           .packed_line = (int64_t)w->x.size * ML_PANEL_DEPTHWISE,
                           .packed_panel = ml_depthwise_panel(blob, w->y.size),
                           .start = ml_in_optional(c, 2),
                           .low = p->minimum,
                           .high = p->maximum};
    const int64_t together = w->x.stride == 1 ? ml_depthwise_side(n) : 1;
    const float *start =
        repeat_start(c, n, together, (float *)(void *)(scratch + lay_out(blob).start));
    (void)args;
    for (int64_t line = first; line < end; line += a.rows) {
        const int64_t oy = line % w->y.out;
        const ml_window_run down = ml_window_run_at(&w->y, oy);
        a.height = down.taps.end - down.taps.first;
        a.rows = blob->multiplier > 1 ? 1 : ml_min_s64(ROWS, ml_min_s64(down.end - oy, end - line));
        find_lines(c, line / w->y.out, &down.taps, a.rows, scratch);
        if (blob->multiplier > 1) repeat_lines(c, a.height, scratch);
        for (int64_t ox = 0; ox < w->x.out; ox += a.pixels) {
            const ml_window_run run = ml_window_run_at(&w->x, ox);
            a.pixels = run.end - ox;
            a.width = run.taps.end - run.taps.first;
            a.first = (run.taps.start + run.taps.first * w->x.dilation) * n;
            a.packed = (const float *)c->packed + down.taps.first * a.packed_line +
                       run.taps.first * ML_PANEL_DEPTHWISE;
            a.y = (float *)ml_out(c, 0) + (line * w->x.out + ox) * n;
            some_pixels(c, &a, start, together);
        }
    }
    return ML_OK;
}

ml_status ml_depthwise_floats(const ml_call *c) { return ml_depthwise_run(c, 1, lines_f32, NULL); }
