/* lines.c -- convolutions whose rows are stretches of the input's lines, or of copies of them with
 * padding: copying for all types, products for floats. */
#include "kernels/conv/conv.h"

enum {
    LEAST_LINE = 6,
    BUFFER_FLOATS = 64 << 10,
    LEAST_LINES = 8,
    LEAST_BLOCKS = 16,
    LONG_FLOATS = 128 << 10,
    FEW_LINES = 4,
    LEAST_PIXELS = 64
};

/* The cost of an output apart from its products, as ml_work_grain counts it. */
enum { OUTPUT_COST = 8 };

int64_t ml_conv_lines_seen(const ml_window *w, int64_t lines) {
    return (lines - 1) * w->y.stride + (int64_t)(w->y.size - 1) * w->y.dilation + 1;
}
/* The number of elements of an input line that `pixels` neighbouring output pixels see. */
static int64_t stretch_elements(const ml_window *w, int64_t pixels) {
    return ((pixels - 1) * w->x.stride + (int64_t)(w->x.size - 1) * w->x.dilation + 1) *
           w->channels;
}
int64_t ml_conv_line_elements(const ml_window *w) { return stretch_elements(w, w->x.out); }

static bool reaches_beyond(const ml_window_axis *a) {
    return a->before > 0 ||
           (a->out - 1) * (int64_t)a->stride + (int64_t)(a->size - 1) * a->dilation >= a->in;
}

bool ml_conv_has_lines(conv_blob *blob, int32_t least) {
    const ml_window *w = &blob->window;
    bool stretches = w->x.size == 1 || (w->x.dilation == 1 && blob->blocks.groups == 1);
    if (!stretches || w->x.out < least || w->channels > INT32_MAX / w->x.in) return false;
    blob->padded = reaches_beyond(&w->y) || reaches_beyond(&w->x);
    return ml_conv_line_elements(w) <= INT32_MAX;
}

/* The number of pixels in a block: a line, or a part of one if lines are few and long, as in
 * sequences. */
static int64_t pixels_of(const ml_window *w, int64_t cost) {
    if ((int64_t)w->batches * w->y.out >= FEW_LINES) return w->x.out;
    const int64_t pixels = ml_max_s64(ml_work_grain(w->x.out, cost), LEAST_PIXELS);
    return ml_min_s64(ml_round_up(pixels, LEAST_PIXELS), w->x.out);
}

/* True if a line's pixels fill the tiles of a product badly, so that to copy the windows of several
 * lines, which fill them well, takes less time: 7 pixels are a tile of 4 and one of 3. */
static bool is_ragged(const ml_call *c, const ml_window *w, int64_t outputs) {
    enum { LEAST_OUTPUTS = 32 };
    const int64_t rows = c->env->simd->matmul_f32_rows;
    const int64_t tiles = ml_ceil_div(w->x.out, rows);
    return tiles > 1 && 10 * w->x.out < 7 * tiles * rows && outputs >= LEAST_OUTPUTS;
}

bool ml_conv_prepare_lines(const ml_call *c, conv_blob *blob, ml_wish *wish) {
    const ml_window *w = &blob->window;
    if (!ml_conv_has_lines(blob, LEAST_LINE) || is_ragged(c, w, blob->blocks.n)) return false;
    const int64_t outputs = ml_outputs_paid(c->env->simd, blob->blocks.n, blob->blocks.k);
    const int64_t pixel = (blob->blocks.k + OUTPUT_COST) * outputs * blob->blocks.groups;
    const int64_t cost = w->x.out * pixel, pixels = pixels_of(w, pixel);
    blob->source = CONV_LINES;
    blob->blocks.block = (int32_t)pixels;
    if (pixels < w->x.out) {
        blob->lines = 1;
        if (blob->padded)
            wish->worker_bytes =
                ml_conv_lines_seen(w, 1) * stretch_elements(w, pixels) * (int64_t)sizeof(float);
        return true;
    }
    int64_t lines = ml_min_s64(ml_work_grain((int64_t)w->batches * w->y.out, cost), w->y.out);
    if (blob->padded) {
        int64_t floats = ml_conv_line_elements(w);
        int64_t fit = BUFFER_FLOATS / floats - ml_conv_lines_seen(w, 1);
        int64_t most = fit < 0 ? 1 : 1 + fit / w->y.stride;
        /* Neighbouring output lines see the same input lines, so a few are computed together, even
         * if they are long: each input line is copied just before it is first used. */
        int64_t few = ml_min_s64(LEAST_LINES, w->y.out / LEAST_BLOCKS);
        if (floats > LONG_FLOATS) few = 1;
        lines = ml_max_s64(ml_min_s64(lines, most), few);
        wish->worker_bytes = ml_conv_lines_seen(w, lines) * floats * (int64_t)sizeof(float);
    }
    /* Prepare sees empty outputs, too, where no line fits. */
    blob->lines = (int16_t)ml_min_s64(lines > 0 ? lines : 1, INT16_MAX);
    return true;
}

/* A range of elements in lines that include padding. */
typedef struct stretch {
    int64_t first;
    int64_t count;
} stretch;

/* Copies a part of what ml_conv_copy_lines copies: the stretch `of` of each of the lines begin ..
 * end - 1. */
static void copy_some_lines(const ml_window *w, const conv_copy *copy, const void *x, int64_t batch,
                            int64_t first, int64_t begin, int64_t end, stretch of, void *to) {
    const int64_t channels = w->channels, count = of.count;
    const int64_t before = w->x.before * channels - of.first, skip = before < 0 ? -before : 0;
    const int64_t left = ml_min_s64(before + skip, count);
    const int64_t inside = ml_max_s64(ml_min_s64(w->x.in * channels - skip, count - left), 0),
                  bytes = copy->to_bytes;
    char *line = (char *)to + begin * count * bytes;
    for (int64_t i = begin; i < end; i++, line += count * bytes) {
        const int64_t iy = first * w->y.stride - w->y.before + i;
        if (iy < 0 || iy >= w->y.in) {
            copy->put(copy, NULL, count, line);
            continue;
        }
        const char *from = (const char *)x +
                           ((batch * w->y.in + iy) * w->x.in * channels + skip) * copy->from_bytes;
        if (left > 0) copy->put(copy, NULL, left, line);
        if (inside > 0) copy->put(copy, from, inside, line + left * bytes);
        if (left + inside < count)
            copy->put(copy, NULL, count - left - inside, line + (left + inside) * bytes);
    }
}

void ml_conv_copy_lines(const ml_window *w, const conv_copy *copy, const void *x, int64_t batch,
                        int64_t first, int64_t lines, void *to) {
    const stretch whole = {0, ml_conv_line_elements(w)};
    copy_some_lines(w, copy, x, batch, first, 0, ml_conv_lines_seen(w, lines), whole, to);
}

static void put_floats(const conv_copy *copy, const void *from, int64_t count, void *to) {
    if (from) memcpy(to, from, (size_t)count * sizeof(float));
    else memset(to, 0, (size_t)count * sizeof(float));
}

static const conv_copy of_floats = {
    .put = put_floats, .from_bytes = sizeof(float), .to_bytes = sizeof(float)};

/* Computes neighbouring pixels of an output line. The first one's window begins at `line`; its
 * lines are `step` floats apart. */
static void multiply_line(const ml_call *c, const float *line, int64_t step, int64_t pixels,
                          float *y) {
    const conv_params *params = c->params;
    const conv_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const ml_blocks *b = &blob->blocks;
    const float *bias = ml_in_optional(c, 2), *packed = c->packed;
    for (int64_t g = 0; g < b->groups; g++) {
        ml_matmul_f32_args product = {
            .a = line + g * blob->depth,
            .rows = pixels,
            .a_stride = (int64_t)w->x.stride * w->channels,
            .pieces = w->y.size,
            .piece_stride = w->y.dilation * step,
            .k = (int64_t)w->x.size * blob->depth,
            .n = b->n,
            .packed = packed + g * ml_weights_f32(c->env->simd, b->n, b->k),
            .bias = bias ? bias + g * b->n : NULL,
            .y = y + g * b->n,
            .y_stride = (int64_t)b->n * b->groups,
            .low = params->minimum,
            .high = params->maximum,
            .far = ml_is_far(c),
        };
        ml_multiply_f32(c->env->simd, &product);
    }
}

static ml_status lines_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const conv_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const float *x = ml_in(c, 0);
    int64_t outputs = (int64_t)w->x.out * blob->blocks.n * blob->blocks.groups;
    const stretch whole = {0, ml_conv_line_elements(w)};
    for (int64_t count; first < end; first += count) {
        int64_t batch = first / w->y.out, line = first % w->y.out;
        int64_t step = (int64_t)w->x.in * w->channels;
        const float *from = x + (batch * w->y.in + line * w->y.stride) * step;
        count = ml_min_s64(end - first, w->y.out - line);
        if (blob->padded) {
            from = ml_worker_scratch(c, worker);
            step = whole.count;
        }
        for (int64_t i = 0, there = 0, seen; i < count; i++, there = seen) {
            seen = ml_conv_lines_seen(w, i + 1);
            if (blob->padded)
                copy_some_lines(w, &of_floats, x, batch, line, there, seen, whole,
                                ml_worker_scratch(c, worker));
            multiply_line(c, from + i * w->y.stride * step, step, w->x.out,
                          (float *)ml_out(c, 0) + (first + i) * outputs);
        }
    }
    return ML_OK;
}

/* Computes pieces of output lines, where a block is shorter than a line. */
static ml_status pieces_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    const conv_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const int64_t pieces = *(const int64_t *)args, step = (int64_t)w->x.in * w->channels;
    const int64_t outputs = (int64_t)blob->blocks.n * blob->blocks.groups;
    for (int64_t i = first; i < end; i++) {
        const int64_t line = i / pieces, pixel = i % pieces * blob->blocks.block;
        const int64_t batch = line / w->y.out, at = line % w->y.out;
        const int64_t pixels = ml_min_s64(w->x.out - pixel, blob->blocks.block);
        const stretch of = {pixel * w->x.stride * w->channels, stretch_elements(w, pixels)};
        float *y = (float *)ml_out(c, 0) + (line * w->x.out + pixel) * outputs;
        if (blob->padded) {
            float *copy = ml_worker_scratch(c, worker);
            copy_some_lines(w, &of_floats, ml_in(c, 0), batch, at, 0, ml_conv_lines_seen(w, 1), of,
                            copy);
            multiply_line(c, copy, of.count, pixels, y);
        } else {
            const float *x = ml_in(c, 0);
            multiply_line(c, x + (batch * w->y.in + at * w->y.stride) * step + of.first, step,
                          pixels, y);
        }
    }
    return ML_OK;
}

ml_status ml_conv_multiply_lines(const ml_call *c) {
    const conv_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    int64_t pieces = ml_ceil_div(w->x.out, blob->blocks.block);
    if (pieces > 1) return ml_parallel(c, w->batches * w->y.out * pieces, 1, pieces_body, &pieces);
    return ml_parallel(c, (int64_t)w->batches * w->y.out, blob->lines, lines_body, NULL);
}
