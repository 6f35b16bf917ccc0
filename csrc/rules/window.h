/* window.h -- the geometry of a window that slides over a (batch, height, width, channels) tensor: convolution, pooling. */
#ifndef ML_WINDOW_H
#define ML_WINDOW_H

#include "kernel.h"

/* Sizes are int64_t so that no product of a stride, a dilation and a position overflows. */
typedef struct ml_window_axis {
    int64_t in;
    int64_t out;
    int64_t size; /* of the window, in taps */
    int64_t stride;
    int64_t dilation;
    int64_t before; /* padding before the first element */
} ml_window_axis;

typedef struct ml_window {
    ml_window_axis y;
    ml_window_axis x;
    int64_t batches;
    int64_t channels; /* of the input */
} ml_window;

/* The taps of one window that lie inside the input: first <= tap < end; tap t reads start + t * dilation. */
typedef struct ml_taps {
    int64_t first;
    int64_t end;
    int64_t start;
} ml_taps;

/* Fills in, out, before of both axes from the input's shape and TFLite's padding rule (ComputeOutSize, ComputePadding):
 * SAME: out = ceil(in / stride), half of the padding, rounded down, comes first; VALID: only whole windows (none at
 * all if less than a stride is missing; refused if more is). The caller has set size, stride, dilation > 0. */
ml_status ml_window_prepare(const ml_call *c, ml_window *window, const ml_shape *input, bool same);

/* Writes the windows of output pixels first .. first + count - 1 as rows of height * width * depth elements to `rows`;
 * `depth` channels from `channel` on. Outside the input stand zeros. */
void ml_window_gather_f32(const ml_window *window, const float *x, int64_t channel, int64_t depth,
                          int64_t first, int64_t count, float *rows);
/* The same for bytes, widened to int16 with `zero` subtracted; rows are `stride` long, filled up with zeros. */
void ml_window_gather_s8(const ml_window *window, const int8_t *x, int64_t channel, int64_t depth,
                         int64_t first, int64_t count, int32_t zero, int64_t stride, int16_t *rows);
void ml_window_gather_u8(const ml_window *window, const uint8_t *x, int64_t channel, int64_t depth,
                         int64_t first, int64_t count, int32_t zero, int64_t stride, int16_t *rows);

static inline ml_taps ml_window_taps(const ml_window_axis *axis, int64_t out) {
    int64_t start = out * axis->stride - axis->before, dilation = axis->dilation;
    ml_taps taps = {start < 0 ? (dilation - 1 - start) / dilation : 0, 0, start};
    if (start < axis->in) taps.end = (axis->in - start + dilation - 1) / dilation;
    if (taps.end > axis->size) taps.end = axis->size;
    if (taps.first > taps.end) taps.first = taps.end;
    return taps;
}

static inline int64_t ml_min_s64(int64_t a, int64_t b) { return a < b ? a : b; }

#endif
