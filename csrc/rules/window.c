/* window.c -- computes shapes of sliding windows, and gathers windows into the rows of a matrix. */
#include "rules/window.h"

#include "rules/bytes.h"
#include "rules/values.h"

ml_status ml_window_prepare_axis(const ml_call *c, ml_window_axis *axis, const char *name,
                                 int32_t in, bool same) {
    int64_t extent = ((int64_t)axis->size - 1) * axis->dilation + 1, stride = axis->stride;
    axis->in = in;
    axis->before = 0;
    if (extent > INT32_MAX)
        return ml_fail(c, ML_SHAPE_ERROR, "a window of %s %lld is larger than %d", name,
                       (long long)extent, INT32_MAX);
    if (same) {
        axis->out = (int32_t)ml_ceil_div(in, stride);
        int64_t padding = (axis->out - 1) * stride + extent - in;
        if (axis->out > 0 && padding > 0) axis->before = (int32_t)(padding / 2);
        return ML_OK;
    }
    int64_t out = (in + stride - extent) / stride;
    if (out < 0)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "a window of %s %lld does not fit into the input's %s of %d (VALID padding)",
                       name, (long long)extent, name, in);
    axis->out = (int32_t)out;
    return ML_OK;
}

/* An axis that slides over the input and the zeros around it; PAD has checked the sum. */
static ml_status prepare_padded_axis(const ml_call *c, ml_window_axis *axis, const char *name,
                                     int32_t in, bool same, const int32_t pads[2]) {
    ml_status status = ml_window_prepare_axis(c, axis, name, pads[0] + in + pads[1], same);
    axis->in = in;
    axis->before += pads[0];
    return status;
}

ml_status ml_window_prepare(const ml_call *c, ml_window *window, const ml_window_params *params) {
    const ml_shape *input = &ml_in_tensor(c, 0)->shape;
    char text[96];
    if (input->rank != 4)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "input must be (batch, height, width, channels), its shape is %s",
                       ml_shape_text(input, text));
    window->batches = input->dims[0];
    window->channels = input->dims[3];
    if (window->y.size <= 0 || window->x.size <= 0)
        return ml_fail(c, ML_SHAPE_ERROR, "the window of %d x %d is empty", window->y.size,
                       window->x.size);
    const int32_t down[2] = {params->pad_top, params->pad_bottom},
                  across[2] = {params->pad_left, params->pad_right};
    ml_status status =
        prepare_padded_axis(c, &window->y, "height", input->dims[1], params->same, down);
    if (status == ML_OK)
        status = prepare_padded_axis(c, &window->x, "width", input->dims[2], params->same, across);
    return status;
}

ml_status ml_window_prepare_filter(const ml_call *c, ml_window *window,
                                   const ml_window_params *params, const char *layout) {
    const ml_shape *w = &ml_in_tensor(c, 1)->shape;
    char text[96];
    if (w->rank != 4)
        return ml_fail(c, ML_SHAPE_ERROR, "filter must be %s, its shape is %s", layout,
                       ml_shape_text(w, text));
    window->y = (ml_window_axis){
        .size = w->dims[1], .stride = params->stride_h, .dilation = params->dilation_h};
    window->x = (ml_window_axis){
        .size = w->dims[2], .stride = params->stride_w, .dilation = params->dilation_w};
    return ml_window_prepare(c, window, params);
}

/* Cuts one axis; sets the padding before and after. */
static bool cut_axis(const ml_window_axis *axis, ml_side out, ml_side *in, int32_t *before,
                     int32_t *after) {
    const int64_t extent = (axis->size - (int64_t)1) * axis->dilation + 1;
    const int64_t start = (int64_t)out.first * axis->stride - axis->before;
    const int64_t stop = (out.end - (int64_t)1) * axis->stride - axis->before + extent;
    if (start >= axis->in || stop <= 0) return false;
    in->first = (int32_t)ml_max_s64(start, 0);
    in->end = (int32_t)ml_min_s64(stop, axis->in);
    *before = (int32_t)(in->first - start);
    *after = (int32_t)(stop - in->end);
    return true;
}

bool ml_cut_window(const ml_window *w, const ml_rectangle *out, ml_rectangle *in,
                   ml_window_params *params) {
    params->same = 0;
    return cut_axis(&w->y, out->side[0], &in->side[0], &params->pad_top, &params->pad_bottom) &&
           cut_axis(&w->x, out->side[1], &in->side[1], &params->pad_left, &params->pad_right);
}

/* Transposed convolutions ---------------------------------------------------------------------- */

/* The number of windows of a convolution over a side of that size: TFLite's rule. */
static int64_t windows_over(const ml_transposed *t, int32_t axis, int64_t size) {
    const int64_t stride = t->strides[axis];
    return (size + stride - (t->same ? 1 : t->extents[axis])) / stride;
}

bool ml_transposed_fits(const ml_call *c, const ml_transposed *t) {
    const ml_tensor_row *constant = c->env->core->tensor_row(c, c->inputs[0]);
    const ml_shape *x = &ml_input(c, 2)->shape;
    const int32_t *dims = constant->data;
    if (!dims || constant->sparsity_at || constant->rank != 1 || constant->shape[0] != x->rank ||
        dims[0] != x->dims[0])
        return false;
    for (int32_t i = 0; i < t->axes; i++)
        if (dims[i + 1] < 0 || windows_over(t, i, dims[i + 1]) != x->dims[i + 1]) return false;
    return true;
}

/* Dimension `d` of the output for the x in use, where the operand says `dim`. */
static int64_t follow_input(const ml_call *c, const ml_transposed *t, int32_t d, int64_t dim) {
    const ml_shape *x = &ml_input(c, 2)->shape;
    if (d == 0) return x->dims[0];
    if (d > t->axes) return dim;
    const int64_t more = x->dims[d] - windows_over(t, d - 1, dim);
    return ml_max_s64(0, dim + more * t->strides[d - 1]);
}

static const char *side_name(const ml_transposed *t, int32_t axis) {
    static const char *const names[] = {"depth", "height", "width"};
    return names[axis + 3 - t->axes];
}

ml_status ml_transposed_shape(const ml_call *c, const ml_transposed *t, bool fits_file,
                              const void *value, ml_shape *y) {
    const ml_shape *x = &ml_input(c, 2)->shape;
    y->rank = x->rank;
    for (int32_t d = 0; d < x->rank; d++) {
        int64_t dim = 0;
        ml_read_index(ml_input(c, 0), value, d, &dim);
        if (dim >= 0 && fits_file) dim = follow_input(c, t, d, dim);
        if (dim < 0 || dim > INT32_MAX)
            return ml_fail(c, ML_SHAPE_ERROR, "dimension %d of the output would be %lld", d,
                           (long long)dim);
        y->dims[d] = (int32_t)dim;
    }
    const int32_t last = y->dims[x->rank - 1];
    if (y->dims[0] != x->dims[0] || last != t->outputs)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "output of batch %d and %d channels does not match batch %d and %d outputs",
                       y->dims[0], last, x->dims[0], t->outputs);
    for (int32_t i = 0; i < t->axes; i++) {
        const int64_t windows = windows_over(t, i, y->dims[i + 1]);
        if (windows != x->dims[i + 1])
            return ml_fail(c, ML_SHAPE_ERROR,
                           "an output %s of %d has %lld windows, the input has %d", side_name(t, i),
                           y->dims[i + 1], (long long)windows, x->dims[i + 1]);
    }
    return ML_OK;
}

/* Gathering ------------------------------------------------------------------------------------ */

typedef struct gather_kind gather_kind;

/* Copies `count` elements while windows are gathered; from NULL it writes `outside`. */
typedef void copy_fn(void *to, const void *from, int64_t count, const gather_kind *kind);

struct gather_kind {
    copy_fn *copy;
    int64_t from_bytes; /* per element of the input */
    int64_t to_bytes; /* per element of a row */
    int32_t type;
    int32_t outside;
    int64_t plane;
};

static void copy_f32(void *to, const void *from, int64_t count, const gather_kind *kind) {
    if (from) memcpy(to, from, (size_t)count * sizeof(float));
    else memset(to, 0, (size_t)count * sizeof(float));
}

static void copy_bytes(void *to, const void *from, int64_t count, const gather_kind *kind) {
    if (from) ml_to_bytes(kind->type, from, count, kind->plane, to);
    else ml_outside_bytes(kind->type, kind->outside, count, kind->plane, to);
}

/* Gathers one line of one window: `width` taps from `line`, which is the input's line at the first
 * channel (NULL: outside). */
static inline void gather_line(const ml_window *w, const gather_kind *kind, const char *line,
                               ml_taps taps, int64_t depth, char *to) {
    int64_t step = depth * kind->to_bytes, pixel = w->channels * kind->from_bytes;
    if (!line) taps.first = taps.end = w->x.size;
    if (taps.first > 0) kind->copy(to, NULL, taps.first * depth, kind);
    if (w->x.dilation == 1 && depth == w->channels && taps.end > taps.first) {
        kind->copy(to + taps.first * step, line + (taps.start + taps.first) * pixel,
                   (taps.end - taps.first) * depth, kind);
    } else {
        for (int64_t t = taps.first; t < taps.end; t++)
            kind->copy(to + t * step, line + (taps.start + t * w->x.dilation) * pixel, depth, kind);
    }
    if (taps.end < w->x.size)
        kind->copy(to + taps.end * step, NULL, (w->x.size - taps.end) * depth, kind);
}

static void gather(const ml_window *w, const gather_kind *kind, const char *x, int64_t channel,
                   int64_t depth, int64_t first, int64_t count, char *rows) {
    int64_t line_bytes = (int64_t)w->x.in * w->channels * kind->from_bytes;
    int64_t step = w->x.size * depth * kind->to_bytes;
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
    gather_kind kind = {.copy = copy_f32, .from_bytes = sizeof(float), .to_bytes = sizeof(float)};
    gather(window, &kind, (const char *)x, channel, depth, first, count, (char *)rows);
}

void ml_window_gather_bytes(const ml_window *window, int32_t type, const void *x, int64_t channel,
                            int64_t depth, int64_t first, int64_t count, int32_t outside,
                            int64_t plane, uint8_t *rows) {
    gather_kind kind = {copy_bytes, ml_type_bytes(type), 1, type, outside, plane};
    gather(window, &kind, x, channel, depth, first, count, (char *)rows);
}
