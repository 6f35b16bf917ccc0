/* window.c -- shapes of sliding windows, and windows gathered into the rows of a matrix. */
#include "rules/window.h"

#include "math/matmul.h"

static ml_status prepare_axis(const ml_call *c, ml_window_axis *axis, const char *name, int64_t in,
                              bool same) {
    int64_t extent = (axis->size - 1) * axis->dilation + 1;
    axis->in = in;
    axis->before = 0;
    if (same) {
        axis->out = (in + axis->stride - 1) / axis->stride;
        int64_t padding = (axis->out - 1) * axis->stride + extent - in;
        if (axis->out > 0 && padding > 0) axis->before = padding / 2;
        return ML_OK;
    }
    axis->out = (in + axis->stride - extent) / axis->stride;
    if (axis->out < 0)
        return ml_fail(
            c, ML_SHAPE_ERROR,
            "a window of %s %lld does not fit into the input's %s of %lld (VALID padding)", name,
            (long long)extent, name, (long long)in);
    return ML_OK;
}

ml_status ml_window_prepare(const ml_call *c, ml_window *window, const ml_shape *input, bool same) {
    char text[96];
    if (input->rank != 4)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "input must be (batch, height, width, channels), its shape is %s",
                       ml_shape_text(input, text));
    window->batches = input->dims[0];
    window->channels = input->dims[3];
    if (window->y.size <= 0 || window->x.size <= 0)
        return ml_fail(c, ML_SHAPE_ERROR, "the window of %lld x %lld is empty",
                       (long long)window->y.size, (long long)window->x.size);
    ml_status status = prepare_axis(c, &window->y, "height", input->dims[1], same);
    if (status == ML_OK) status = prepare_axis(c, &window->x, "width", input->dims[2], same);
    return status;
}

/* What gathering does with `count` elements: zeros where `from` is NULL. */
typedef void copy_fn(void *to, const void *from, int64_t count, int32_t zero);

typedef struct gather_kind {
    copy_fn *copy;
    int64_t from_bytes; /* per element of the input */
    int64_t to_bytes;   /* per element of a row */
    int32_t zero;
} gather_kind;

static void copy_f32(void *to, const void *from, int64_t count, int32_t zero) {
    (void)zero;
    if (from) memcpy(to, from, (size_t)count * sizeof(float));
    else memset(to, 0, (size_t)count * sizeof(float));
}

static void copy_s8(void *to, const void *from, int64_t count, int32_t zero) {
    if (from) ml_widen_s8(from, count, (int16_t)zero, to);
    else memset(to, 0, (size_t)count * sizeof(int16_t));
}

static void copy_u8(void *to, const void *from, int64_t count, int32_t zero) {
    if (from) ml_widen_u8(from, count, (int16_t)zero, to);
    else memset(to, 0, (size_t)count * sizeof(int16_t));
}

/* One line of one window: `width` taps from `line`, the input's line at the first channel wanted (NULL: outside). */
static inline void gather_line(const ml_window *w, const gather_kind *kind, const char *line,
                               ml_taps taps, int64_t depth, char *to) {
    int64_t step = depth * kind->to_bytes, pixel = w->channels * kind->from_bytes;
    if (!line) taps.first = taps.end = w->x.size;
    if (taps.first > 0) kind->copy(to, NULL, taps.first * depth, 0);
    if (w->x.dilation == 1 && depth == w->channels && taps.end > taps.first) {
        kind->copy(to + taps.first * step, line + (taps.start + taps.first) * pixel,
                   (taps.end - taps.first) * depth, kind->zero);
    } else {
        for (int64_t t = taps.first; t < taps.end; t++)
            kind->copy(to + t * step, line + (taps.start + t * w->x.dilation) * pixel, depth,
                       kind->zero);
    }
    if (taps.end < w->x.size)
        kind->copy(to + taps.end * step, NULL, (w->x.size - taps.end) * depth, 0);
}

static void gather(const ml_window *w, const gather_kind *kind, const char *x, int64_t channel,
                   int64_t depth, int64_t first, int64_t count, int64_t stride, char *rows) {
    int64_t line_bytes = w->x.in * w->channels * kind->from_bytes;
    int64_t step = w->x.size * depth * kind->to_bytes,
            excess = stride * kind->to_bytes - w->y.size * step;
    int64_t ox = first % w->x.out, oy = first / w->x.out % w->y.out,
            batch = first / w->x.out / w->y.out;
    x += channel * kind->from_bytes;
    for (int64_t i = 0; i < count; i++) {
        ml_taps across = ml_window_taps(&w->x, ox), down = ml_window_taps(&w->y, oy);
        for (int64_t t = 0; t < w->y.size; t++, rows += step) {
            bool inside = t >= down.first && t < down.end;
            int64_t iy = batch * w->y.in + down.start + t * w->y.dilation;
            gather_line(w, kind, inside ? x + iy * line_bytes : NULL, across, depth, rows);
        }
        if (excess > 0) memset(rows, 0, (size_t)excess);
        rows += excess;
        if (++ox == w->x.out) {
            ox = 0;
            if (++oy == w->y.out) {
                oy = 0;
                batch++;
            }
        }
    }
}

void ml_window_gather_f32(const ml_window *window, const float *x, int64_t channel, int64_t depth,
                          int64_t first, int64_t count, float *rows) {
    gather_kind kind = {copy_f32, sizeof(float), sizeof(float), 0};
    gather(window, &kind, (const char *)x, channel, depth, first, count,
           window->y.size * window->x.size * depth, (char *)rows);
}

void ml_window_gather_s8(const ml_window *window, const int8_t *x, int64_t channel, int64_t depth,
                         int64_t first, int64_t count, int32_t zero, int64_t stride,
                         int16_t *rows) {
    gather_kind kind = {copy_s8, 1, sizeof(int16_t), zero};
    gather(window, &kind, (const char *)x, channel, depth, first, count, stride, (char *)rows);
}

void ml_window_gather_u8(const ml_window *window, const uint8_t *x, int64_t channel, int64_t depth,
                         int64_t first, int64_t count, int32_t zero, int64_t stride,
                         int16_t *rows) {
    gather_kind kind = {copy_u8, 1, sizeof(int16_t), zero};
    gather(window, &kind, (const char *)x, channel, depth, first, count, stride, (char *)rows);
}
