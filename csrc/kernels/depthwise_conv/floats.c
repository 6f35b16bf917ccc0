/* floats.c -- depthwise sums of floats, which bytes use as well: a tap is a product of vectors over the outputs. */
#include "kernels/depthwise_conv/depthwise_conv.h"

enum { CHUNK = 16 };

typedef float v4f32 __attribute__((vector_size(16), aligned(4)));

/* sums[j] = sum over the window of x * filter, outputs first .. first + 4 * vectors - 1; `vectors` is a constant. */
__attribute__((always_inline)) static inline void
sum_vectors(const depthwise_source *s, int64_t first, const int vectors, float *sums) {
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

void ml_depthwise_sum(const depthwise_source *s, float *sums) {
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
