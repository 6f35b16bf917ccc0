/* window.h -- the geometry of a window that slides over a (batch, height, width, channels) tensor:
 * convolution, pooling. */
#ifndef ML_WINDOW_H
#define ML_WINDOW_H

#include "kernel.h"

/* The options of a filter's window; and the zeros around its input, of a PAD that was fused into
 * the node. */
#define ML_WINDOW_FIELDS(X, S) \
    X(S, i32, same, ML_SAME_PADDING)                             \
    X(S, i32, stride_h, ML_POSITIVE("stride_h"))                 \
    X(S, i32, stride_w, ML_POSITIVE("stride_w"))                 \
    X(S, i32, dilation_h, ML_POSITIVE("dilation_h_factor"))      \
    X(S, i32, dilation_w, ML_POSITIVE("dilation_w_factor"))      \
    X(S, i32, pad_top, ML_IS(0)) X(S, i32, pad_bottom, ML_IS(0)) \
    X(S, i32, pad_left, ML_IS(0)) X(S, i32, pad_right, ML_IS(0))
ML_GROUP(ml_window_params, ML_WINDOW_FIELDS)
#define ML_C_window ml_window_params
#define ML_ROW_window(params, member) ML_WINDOW_FIELDS(ML_GROUP_ROW, (params, member))

/* The codes of paddings in option structs of custom operators: TfLitePadding. */
enum { ML_CUSTOM_SAME = 1, ML_CUSTOM_VALID = 2 };

/* Positions are counted in int64_t: no product of a stride, a dilation and a position overflows. */
typedef struct ml_window_axis {
    int32_t in;
    int32_t out;
    int32_t size; /* of the window, in taps */
    int32_t stride;
    int32_t dilation;
    int32_t before; /* padding before the first element */
} ml_window_axis;

typedef struct ml_window {
    ml_window_axis y;
    ml_window_axis x;
    int32_t batches;
    int32_t channels; /* of the input */
} ml_window;

/* The taps of a window that lie inside the input, first <= tap < end. Tap t reads the element at
 * start + t * dilation. */
typedef struct ml_taps {
    int64_t first;
    int64_t end;
    int64_t start;
} ml_taps;

/* Fills in, out, before of both axes from input 0's shape and TFLite's padding rule
 * (ComputeOutSize, ComputePadding): SAME: out = ceil(in / stride), half of the padding, rounded
 * down, comes first; VALID: only whole windows (if the input is too small by less than a stride,
 * there is no output; if by more, it is refused). The caller has set size, stride, dilation > 0. */
ml_status ml_window_prepare(const ml_call *c, ml_window *window, const ml_window_params *params);
/* The same for one axis, over `in` elements; `name` names the axis in errors. */
ml_status ml_window_prepare_axis(const ml_call *c, ml_window_axis *axis, const char *name,
                                 int32_t in, bool same);
/* The same for the window of input 1, a filter of rank 4 with height and width in the middle;
 * `layout` names its dimensions. */
ml_status ml_window_prepare_filter(const ml_call *c, ml_window *window,
                                   const ml_window_params *params, const char *layout);

/* Cuts the window of a node: the rectangle of the input that `out` of the output sees, and the
 * parameters that give it the same padding. False if a side of it sees nothing but padding. */
bool ml_cut_window(const ml_window *window, const ml_rectangle *out, ml_rectangle *in,
                   ml_window_params *params);

/* A convolution whose inputs are (shape of the output, filter, x): each element of x is added to a
 * window of the output. The caller has set everything, and checked the ranks of filter and x. */
typedef struct ml_transposed {
    int32_t axes; /* between the batch and the last dimension of x and of the output: at most 3 */
    int32_t outputs; /* the last dimension of the output */
    bool same;
    int64_t extents[3]; /* of a window: (taps - 1) * dilation + 1 */
    int64_t strides[3];
} ml_transposed;

/* True if the operand is a constant that fits the shape of x in the file; called by check. It then
 * says by how much a side is larger than its windows need, and is right for x of other sizes
 * too. */
bool ml_transposed_fits(const ml_call *c, const ml_transposed *transposed);
/* Reads the output's shape from the operand, a vector with the rank of x as its length. If it fits
 * the file, it follows x: each side grows by a stride for every element more. Refuses a shape that
 * does not fit x. */
ml_status ml_transposed_shape(const ml_call *c, const ml_transposed *transposed, bool fits_file,
                              const void *value, ml_shape *shape);

static inline int64_t ml_window_pixels(const ml_window *w) {
    return (int64_t)w->batches * w->y.out * w->x.out; /* fits: the output's elements were counted */
}

/* Writes the windows of output pixels first .. first + count - 1 as rows of height * width * depth
 * elements to `rows`; `depth` channels from `channel` on. Taps outside the input are zeros. */
void ml_window_gather_f32(const ml_window *window, const float *x, int64_t channel, int64_t depth,
                          int64_t first, int64_t count, float *rows);
/* The same for integers (s8, u8, s16), as the bytes of ml_to_bytes; taps outside the input are
 * `outside`. */
void ml_window_gather_bytes(const ml_window *window, int32_t type, const void *x, int64_t channel,
                            int64_t depth, int64_t first, int64_t count, int32_t outside,
                            int64_t plane, uint8_t *rows);

static inline ml_taps ml_window_taps(const ml_window_axis *axis, int64_t out) {
    int64_t start = out * axis->stride - axis->before, dilation = axis->dilation;
    ml_taps taps = {start < 0 ? ml_ceil_div(-start, dilation) : 0, 0, start};
    if (start < axis->in) taps.end = ml_ceil_div(axis->in - start, dilation);
    if (taps.end > axis->size) taps.end = axis->size;
    if (taps.first > taps.end) taps.first = taps.end;
    return taps;
}

/* Neighbouring outputs whose windows have the same taps: all windows that lie inside the input, or
 * a single one at an edge. */
typedef struct ml_window_run {
    int64_t end; /* after the last output */
    ml_taps taps; /* of the first one */
} ml_window_run;
static inline ml_window_run ml_window_run_at(const ml_window_axis *axis, int64_t first) {
    ml_window_run run = {first + 1, ml_window_taps(axis, first)};
    if (run.taps.first > 0 || run.taps.end < axis->size) return run;
    const int64_t last = (axis->size - (int64_t)1) * axis->dilation + run.taps.start;
    run.end = ml_min_s64(run.end + (axis->in - 1 - last) / axis->stride, axis->out);
    return run;
}

#endif
