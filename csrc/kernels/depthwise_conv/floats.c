/* floats.c -- depthwise convolution of floats. Lines outside the input are left out, pixels at its edges taken apart. */
#include "kernels/depthwise_conv/depthwise_conv.h"

int64_t ml_depthwise_pack_floats(const ml_call *c, void *to) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const int64_t taps = (int64_t)w->y.size * w->x.size, n = blob->outputs;
    const int64_t bytes = ml_depthwise_packed_bytes(c, w->y.size);
    const float *weights = ml_value(c, 1);
    float *packed = to;
    for (int64_t panel = 0; to && panel < n; panel += ML_PANEL_DEPTHWISE)
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t i = panel; i < panel + ML_PANEL_DEPTHWISE; i++)
                *packed++ = i < n ? weights[tap * n + i] : 0.0f;
    return bytes;
}

/* Where parts of a worker's scratch lie: pointers to lines, and lines of one value an output. */
typedef struct layout {
    int64_t repeated;
    int64_t bytes;
} layout;

static layout lay_out(const depthwise_blob *blob) {
    const ml_window *w = &blob->window;
    layout l = {.repeated = ml_round_up(w->y.size * (int64_t)sizeof(void *), 64)};
    const int64_t line = (int64_t)w->x.in * blob->outputs * (int64_t)sizeof(float);
    l.bytes = l.repeated + (blob->multiplier > 1 ? line * w->y.size : 0);
    return l;
}

int64_t ml_depthwise_floats_bytes(const depthwise_blob *blob) { return lay_out(blob).bytes; }

/* Points `lines` at those that a window sees. */
static void find_lines(const ml_call *c, int64_t batch, const ml_taps *down, char *scratch) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const int64_t count = (int64_t)w->x.in * w->channels;
    const float **lines = (const float **)(void *)scratch;
    float *repeated = (float *)(void *)(scratch + lay_out(blob).repeated);
    for (int64_t ky = down->first; ky < down->end; ky++) {
        const float *x = (const float *)ml_in(c, 0) + ml_depthwise_line(w, batch, down, ky);
        *lines++ = blob->multiplier > 1 ? repeated : x;
        if (blob->multiplier == 1) continue;
        ml_depthwise_repeat(x, count, blob->multiplier, repeated);
        repeated += count * blob->multiplier;
    }
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
                           .n = n,
                           .packed_line = (int64_t)w->x.size * ML_PANEL_DEPTHWISE,
                           .packed_panel = ml_depthwise_panel(blob, w->y.size),
                           .start = ml_in_optional(c, 2),
                           .low = p->minimum,
                           .high = p->maximum};
    (void)args;
    for (int64_t line = first; line < end; line++) {
        const ml_taps down = ml_window_taps(&w->y, line % w->y.out);
        find_lines(c, line / w->y.out, &down, scratch);
        a.height = down.end - down.first;
        for (int64_t ox = 0; ox < w->x.out; ox += a.pixels) {
            const ml_window_run run = ml_window_run_at(&w->x, ox);
            a.pixels = run.end - ox;
            a.width = run.taps.end - run.taps.first;
            a.first = (run.taps.start + run.taps.first * w->x.dilation) * n;
            a.packed = (const float *)c->packed + down.first * a.packed_line +
                       run.taps.first * ML_PANEL_DEPTHWISE;
            a.y = (float *)ml_out(c, 0) + (line * w->x.out + ox) * n;
            c->env->simd->depthwise_f32(&a);
        }
    }
    return ML_OK;
}

ml_status ml_depthwise_floats(const ml_call *c) { return ml_depthwise_run(c, 1, lines_f32, NULL); }
