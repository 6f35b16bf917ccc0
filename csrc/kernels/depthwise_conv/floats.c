/* floats.c -- depthwise convolution of floats. */
#include "kernels/depthwise_conv/sum.h"

depthwise_source ml_depthwise_source(const depthwise_blob *blob, int64_t line,
                                     const float *filter) {
    const ml_window *w = &blob->window;
    return (depthwise_source){
        .filter = filter,
        .filter_step = (int64_t)w->x.size * blob->outputs,
        .outputs = blob->outputs,
        .tap_step = (int64_t)w->x.dilation * blob->outputs,
        .line_step = (int64_t)w->x.in * blob->outputs,
        .down = ml_window_taps(&w->y, line % w->y.out),
    };
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
        depthwise_source s = ml_depthwise_source(blob, line, ml_in(c, 1));
        float *lines = ml_worker_scratch(c, worker);
        int64_t batch = line / w->y.out;
        for (int64_t ky = s.down.first; ky < s.down.end && !blob->direct; ky++)
            repeat_f32(x + ml_depthwise_line(w, batch, &s.down, ky), (int64_t)w->x.in * w->channels,
                       blob->multiplier, lines + ky * s.line_step);
        if (blob->direct) s.line_step *= w->y.dilation;
        for (int64_t ox = 0; ox < w->x.out; ox++, y += blob->outputs) {
            ml_depthwise_aim(
                &s, blob, blob->direct ? x + ml_depthwise_line(w, batch, &s.down, 0) : lines, ox);
            ml_depthwise_sum(&s, y);
            store_f32(bias, blob->outputs, p->minimum, p->maximum, y);
        }
    }
    return ML_OK;
}

ml_status ml_depthwise_floats(const ml_call *c) { return ml_depthwise_run(c, lines_f32); }
