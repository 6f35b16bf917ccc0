/* floats.c -- depthwise convolution of floats. Taps outside the input are skipped, so pixels at its
 * edges are computed in calls of their own. Rows that see the same taps share a call, because a
 * call takes longer than the few pixels of an edge.
 *
 * If there are few channels, and windows move by one pixel, several neighbouring pixels are treated
 * as one pixel with as many channels as fill a panel: its weights are repeated, and its next tap is
 * still one pixel further. */
#include "kernels/depthwise_conv/depthwise_conv.h"

enum { ROWS = 8 /* in one call */ };

int64_t ml_depthwise_pack_floats(const ml_call *c, void *to) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const int64_t taps = (int64_t)w->y.size * w->x.size, n = blob->outputs;
    const int64_t bytes = ml_depthwise_packed_bytes(c, w->y.size, sizeof(float));
    const float *weights = ml_value(c, 1);
    const int64_t side = n * ml_depthwise_side(n);
    float *packed = to;
    for (int64_t panel = 0; to && panel < n; panel += ML_PANEL_DEPTHWISE)
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t i = panel; i < panel + ML_PANEL_DEPTHWISE; i++)
                *packed++ = i < side ? weights[tap * n + i % n] : 0.0f;
    return bytes;
}

/* Offsets in a worker's scratch: after the pointers to lines come the bias of a panel, and lines
 * with a value per output. */
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

/* Writes pointers to the input lines that the windows of `rows` output lines see. All of them see
 * the same taps, one stride below the line before. */
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

/* Repeats each element of one row's lines for its filters, and points to the results. */
static void repeat_lines(const ml_call *c, int64_t count, char *scratch) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const int64_t values = (int64_t)w->x.in * w->channels;
    const float **lines = (const float **)(void *)scratch;
    float *repeated = (float *)(void *)(scratch + lay_out(blob).repeated);
    for (int64_t i = 0; i < count; i++, repeated += values * blob->multiplier) {
        ml_depthwise_repeat(lines[i], values, sizeof(float), blob->multiplier, repeated);
        lines[i] = repeated;
    }
}

/* Computes neighbouring pixels whose windows have the same taps: first those that fill panels
 * together, then the rest. */
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
    if (one->pixels == panels * together) return;
    a = *one;
    a.pixels -= panels * together;
    a.first += panels * together * one->pixel_step;
    a.y = (float *)a.y + panels * together * one->n;
    c->env->simd->depthwise_f32(&a);
}

/* The bias, repeated for each of the pixels that share a panel; NULL if there is no bias. */
static const float *repeat_start(const ml_call *c, int64_t n, int64_t together, float *to) {
    const float *bias = ml_in_optional(c, 2);
    if (!bias || together == 1) return bias;
    for (int64_t i = 0; i < n * together; i++) to[i] = bias[i % n];
    return to;
}

/* The pixels of a stretch to compute in a call that reads `lines` lines. Columns a multiple of
 * 2 KiB apart share a few sets of a first-level cache, which hold those of few pixels; of columns
 * 1 KiB apart they hold twice as many. */
static int64_t pixels_at_once(const ml_call *c, int64_t lines, int64_t stretch) {
    enum { APART = 2048 };
    const depthwise_blob *blob = c->blob;
    const ml_window_axis *x = &blob->window.x;
    const int64_t column = blob->outputs * (int64_t)sizeof(float);
    const int64_t held = c->env->simd->depthwise_f32_held * (column % APART ? 2 : 1);
    if (column % (APART / 2) != 0 || held == 0) return stretch;
    const int64_t more = held / ml_max_s64(lines, 1) - x->size;
    return ml_min_s64(stretch, more > 0 ? 1 + more / x->stride : 1);
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
    /* Few channels: neighbouring pixels fill a panel together. */
    const int64_t together = w->x.stride == 1 ? ml_depthwise_side(n) : 1;
    const float *start =
        repeat_start(c, n, together, (float *)(void *)(scratch + lay_out(blob).start));
    for (int64_t line = first; line < end; line += a.rows) {
        /* Output lines whose windows have the same lines inside the image. */
        const int64_t oy = line % w->y.out;
        const ml_window_run down = ml_window_run_at(&w->y, oy);
        a.height = down.taps.end - down.taps.first;
        a.rows = blob->multiplier > 1 ? 1 : ml_min_s64(ROWS, ml_min_s64(down.end - oy, end - line));
        find_lines(c, line / w->y.out, &down.taps, a.rows, scratch);
        if (blob->multiplier > 1) repeat_lines(c, a.height, scratch);
        /* Stretches of pixels whose windows have the same columns inside it. */
        for (int64_t ox = 0; ox < w->x.out; ox += a.pixels) {
            const ml_window_run run = ml_window_run_at(&w->x, ox);
            a.pixels = pixels_at_once(c, a.height, run.end - ox);
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
