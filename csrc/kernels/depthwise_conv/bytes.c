/* bytes.c -- depthwise convolution of bytes.
 *
 * The input lines that a window sees are interleaved in groups (interleave_s8), as many columns at
 * a time as stay in the cache. Padding is added on both sides, so that all pixels of an output line
 * are computed in the same way. Bytes are unsigned (signed at levels that want them so), and their
 * zero point is not subtracted from them: each sum begins with minus the zero point times the sum
 * of its weights.
 *
 * If there are few channels, several neighbouring pixels are treated as one, as in floats.c.
 *
 * In an image one pixel wide (an upright one), each line is interleaved once with the lines below
 * it. Then the image is computed like a line of pixels whose groups lie side by side. */
#include "kernels/depthwise_conv/bytes_layout.h"
#include "rules/bytes.h"

/* The constants of the node that lines_bytes works with, and a worker's scratch. */
typedef struct work {
    const ml_call *c;
    const depthwise_blob *blob;
    depthwise_layout l;
    char *scratch;
    const uint8_t *x;
    int64_t x_batch; /* bytes from batch to batch */
    int32_t flip;
    int32_t zero; /* the input's zero point, flipped */
    int32_t *start; /* the start of each output's sum */
    int32_t limit; /* absolute sums are below it; 0: unknown */
    ml_requantize_args bytes; /* requantization from the first pixel on; not for hybrids */
    int32_t mantissas[ML_PANEL_DEPTHWISE]; /* for pixels treated as one */
    int32_t shifts[ML_PANEL_DEPTHWISE];
    int64_t padded; /* groups of whole lines whose padding is written, and stays */
    const ml_slices *slices; /* the quantized batches of a hybrid, else NULL */
} work;

/* Interleaves lines; those of bytes as they lie are copied. */
static void interleave(const work *k, const ml_interleave_s8_args *a) {
    if (k->l.form.element > 1) k->c->env->simd->interleave_s8(a);
    else if (a->lines[0]) memcpy(a->y, a->lines[0], (size_t)a->count);
    else memset(a->y, a->pad, (size_t)a->count);
}

static void fill_columns(const work *k, char *to, int64_t columns) {
    const ml_interleave_s8_args outside = {.count = columns * k->l.across, .pad = k->zero, .y = to};
    if (columns > 0) interleave(k, &outside);
}

/* The columns that some pixels see: `left` of padding, `inside` of the input from column `first`
 * on, `right` of padding. */
typedef struct columns_seen {
    int64_t left;
    int64_t first;
    int64_t inside;
    int64_t right;
} columns_seen;

static columns_seen columns_of(const work *k, int64_t ox, int64_t pixels) {
    const ml_window_axis *x = &k->blob->window.x;
    if (k->l.alone) return (columns_seen){.inside = x->in};
    const int64_t start = ox * x->stride - x->before;
    const int64_t columns = (pixels - 1) * x->stride + (int64_t)(x->size - 1) * x->dilation + 1;
    columns_seen s = {.left = ml_min_s64(ml_max_s64(-start, 0), columns)};
    s.first = start + s.left;
    s.inside = ml_max_s64(ml_min_s64(columns - s.left, x->in - s.first), 0);
    s.right = columns - s.left - s.inside;
    return s;
}

/* Interleaves columns, each by itself if they lie apart. */
static void interleave_columns(const work *k, ml_interleave_s8_args *a, int64_t columns) {
    const int64_t n = k->blob->window.channels;
    const bool apart = k->l.across > k->blob->outputs;
    a->count = apart ? n : columns * n;
    for (int64_t i = apart ? columns : columns > 0; i > 0; i--) {
        interleave(k, a);
        a->y = (char *)a->y + k->l.across * k->l.form.element;
        for (int64_t j = 0; j < k->l.form.group; j++)
            if (a->lines[j]) a->lines[j] += n;
    }
}

/* Interleaves the columns that `pixels` pixels from `ox` on see, of the lines of a batch from `top`
 * on, as `groups` groups from number `first` on. */
static void interleave_lines(work *k, int64_t batch, int64_t top, int64_t ox, int64_t pixels,
                             int64_t first, int64_t groups) {
    const ml_window *w = &k->blob->window;
    const int64_t line = (int64_t)w->x.in * w->channels;
    const int64_t multiplier = k->blob->multiplier, column = k->l.across * k->l.form.element;
    const columns_seen seen = columns_of(k, ox, pixels);
    const uint8_t *x = k->x + batch * k->x_batch + seen.first * w->channels;
    char *to = k->scratch + k->l.lines + first * k->l.columns * column;
    void *narrow = k->scratch + k->l.narrow;
    for (int64_t g = 0; g < groups; g++, to += k->l.columns * column) {
        char *inside = to + seen.left * column;
        ml_interleave_s8_args a = {
            .flip = k->flip, .pad = k->zero, .y = multiplier > 1 ? narrow : inside};
        for (int64_t i = 0; i < k->l.form.group; i++) {
            const int64_t y = top + (g * k->l.form.group + i) * w->y.dilation;
            a.lines[i] = y >= 0 && y < w->y.in ? x + y * line : NULL;
        }
        const bool is_padded = first + g < k->padded;
        if (!is_padded) fill_columns(k, to, seen.left);
        interleave_columns(k, &a, seen.inside);
        if (multiplier > 1)
            ml_depthwise_repeat(narrow, a.count, k->l.form.element, multiplier, inside);
        if (!is_padded) fill_columns(k, inside + seen.inside * column, seen.right);
    }
    if (pixels == w->x.out) k->padded = ml_max_s64(k->padded, first + groups);
    else k->padded = 0;
}

/* Groups from one set's first to the next one's. */
static int64_t set_step(const work *k) {
    const depthwise_layout *l = &k->l;
    return l->held == l->sets * l->form.groups ? l->form.groups : k->blob->window.y.stride;
}

/* Interleaves the sets of `count` lines of output from `at` on. */
static void interleave_sets(work *k, int64_t batch, int64_t at, int64_t count, int64_t ox,
                            int64_t pixels) {
    const ml_window_axis *y = &k->blob->window.y;
    const int64_t shifts = k->l.form.shifts, groups = k->l.form.groups;
    if (set_step(k) != groups) {
        interleave_lines(k, batch, at * y->stride - y->before, ox, pixels, 0,
                         (count - 1) * y->stride + groups);
        return;
    }
    for (int64_t i = 0; i < count; i += shifts)
        interleave_lines(k, batch, (at + i) * y->stride - y->before, ox, pixels,
                         i / shifts * groups, groups);
}

/* Interleaves an upright image: each line that `count` pixels from `first` on see, with the group -
 * 1 lines below it. */
static void interleave_upright(const work *k, int64_t batch, int64_t first, int64_t count) {
    const ml_window_axis *y = &k->blob->window.y;
    const int64_t n = k->blob->outputs, group = k->l.form.group;
    const int64_t starts = ml_depthwise_starts(&k->l.form, y, count), rows = starts + group - 1;
    const int64_t top = first * y->stride - y->before;
    const uint8_t *x = k->x + batch * k->x_batch;
    uint8_t *padded = (uint8_t *)k->scratch + k->l.narrow;
    if (top < 0 || top + rows > y->in) {
        const int64_t above = ml_min_s64(ml_max_s64(-top, 0), rows);
        const int64_t end = ml_max_s64(ml_min_s64(rows, y->in - top), above);
        memset(padded, k->zero ^ k->flip, (size_t)(rows * n));
        if (end > above)
            memcpy(padded + above * n, x + (top + above) * n, (size_t)((end - above) * n));
        x = padded;
    } else {
        x += top * n;
    }
    ml_interleave_s8_args a = {
        .count = starts * n, .flip = k->flip, .pad = k->zero, .y = k->scratch + k->l.lines};
    for (int64_t i = 0; i < group; i++) a.lines[i] = x + i * n;
    interleave(k, &a);
}

/* Copies the columns that pixel `ox` sees, padding included, so that they lie side by side. */
static void gather_window(const work *k, int64_t ox) {
    const ml_window_axis *x = &k->blob->window.x;
    const int64_t n = k->blob->outputs;
    const ml_taps across = ml_window_taps(x, ox);
    const int64_t bytes = n * k->l.form.element;
    const char *lines = k->scratch + k->l.lines;
    char *to = k->scratch + k->l.window;
    for (int64_t g = 0; g < k->l.form.groups; g++, lines += k->l.columns * bytes)
        for (int64_t tap = 0; tap < x->size; tap++, to += bytes) {
            const int64_t column = across.start + tap * x->dilation;
            if (tap < across.first || tap >= across.end) fill_columns(k, to, 1);
            else memcpy(to, lines + column * bytes, (size_t)bytes);
        }
}

int32_t ml_depthwise_start(const ml_call *c, const depthwise_groups *f, int32_t zero,
                           int32_t *start) {
    const depthwise_blob *blob = c->blob;
    const ml_weighted *w = c->derived;
    const int64_t n = blob->outputs, panels = f->groups * f->parts * f->shifts;
    const void *sums = (const char *)c->packed + ml_depthwise_packed_bytes(c, panels, f->element);
    const uint32_t *weights = sums;
    const uint32_t *bias = blob->form != DEPTHWISE_HYBRID ? ml_in_optional(c, 2) : NULL;
    const int64_t taps = (int64_t)blob->window.y.size * blob->window.x.size;
    for (int64_t o = 0; o < n; o++)
        start[o] = (int32_t)((bias ? bias[o] : 0) - (uint32_t)zero * weights[o]);
    return w->limit ? w->limit : ml_limit_of(start, n, taps);
}

static void fill_start(work *k) {
    const int64_t n = k->blob->outputs;
    k->limit = ml_depthwise_start(k->c, &k->l.form, k->zero, k->start);
    for (int64_t i = n; i < n * k->l.side; i++) k->start[i] = k->start[i - n];
}

/* Each batch of a hybrid has its own zero point and scale. */
static void begin_batch(work *k, int64_t batch) {
    const depthwise_layout *l = &k->l;
    if (!k->slices) return;
    float *scales = (float *)(void *)(k->scratch + l->scales);
    for (int64_t i = 0; i < l->pixels; i++) scales[i] = k->slices->scales[batch];
    k->zero = -k->slices->factors[batch] - k->flip;
    k->start = (int32_t *)(void *)(k->scratch + l->start);
    k->padded = 0;
    fill_start(k);
}

/* Writes the pointers to the interleaved lines, once for each part of the weights. */
static void point(const work *k) {
    const void **lines = (const void **)(void *)k->scratch;
    const int64_t groups = k->l.form.groups;
    const int64_t columns = k->l.alone    ? k->blob->window.x.size
                            : k->l.height ? k->l.form.group
                                          : k->l.columns;
    const int64_t step = columns * k->l.across * k->l.form.element;
    const char *first = k->scratch + (k->l.alone ? k->l.window : k->l.lines);
    for (int64_t set = 0; set < k->l.sets; set++, first += set_step(k) * step)
        for (int64_t i = 0; i < groups * k->l.form.parts; i++) *lines++ = first + i % groups * step;
}

/* Computes the outputs of some pixels: bytes, or sums if `to` is NULL. Pixels that fill a panel
 * together are treated as one; those left over are computed one by one. */
static void multiply_pixels(const work *k, ml_depthwise_args a, ml_requantize_args *to) {
    const ml_simd *simd = k->c->env->simd;
    const int64_t n = a.n, pixels = a.pixels, step = a.pixel_step;
    for (int64_t side = k->l.side, left = pixels; left > 0; side = 1) {
        if (left < side) continue;
        a.pixels = left / side;
        a.n = n * side;
        a.pixel_step = step * side;
        if (to) {
            to->n = to->y_stride = a.n;
            if (k->l.form.element == 1) simd->depthwise_narrow_s8(&a, to);
            else simd->depthwise_product_s8(simd, &a, to);
            to->y += a.pixels * a.n;
        } else {
            simd->depthwise_s8(&a);
            a.y = (int32_t *)a.y + a.pixels * a.n;
        }
        a.first += a.pixels * a.pixel_step;
        left -= a.pixels * side;
    }
}

/* Computes pixels of a hybrid, whose sums are scaled to floats. `pixel` is the first pixel's number
 * among all pixels of the output. */
static void scale_pixels(const work *k, ml_depthwise_args a, int64_t pixel) {
    const ml_call *c = k->c;
    const depthwise_params *p = c->params;
    const int64_t n = a.n;
    ml_requantized r = {.rows = a.pixels, .bias = ml_in_optional(c, 2), .y_stride = n};
    const ml_depthwise_args all = a;
    for (r.first = 0; r.first < n; r.first += r.n) {
        r.n = a.n = ml_min_s64(k->l.channels, n - r.first);
        a.first = all.first + r.first;
        a.packed = (const char *)all.packed +
                   k->l.form.element * (r.first / ML_PANEL_DEPTHWISE) * a.packed_panel;
        a.start = k->start + r.first;
        r.sums = a.y = k->scratch + k->l.sums;
        multiply_pixels(k, a, NULL);
        r.y = (float *)ml_out(c, 0) + pixel * n + r.first;
        ml_scale_sums(c, &r, (const float *)(const void *)(k->scratch + k->l.scales),
                      ML_SCALES_FIRST, p->minimum, p->maximum);
    }
}

/* Computes `count` neighbouring pixels from interleaved lines. `pixel` is the first one's number
 * among all pixels of the output; `packed` has the weights for the shift of its line. */
static void write_pixels(const work *k, const ml_depthwise_args *args, int64_t pixel, int64_t count,
                         const char *packed) {
    ml_depthwise_args a = *args;
    a.packed = packed;
    a.start = k->start;
    for (int64_t ox = 0; ox < count; ox += a.pixels) {
        a.pixels = ml_min_s64(k->l.pixels, count - ox);
        a.first = k->l.alone ? 0 : ox * a.pixel_step;
        if (k->l.alone) gather_window(k, ox);
        if (k->slices) {
            scale_pixels(k, a, pixel + ox);
            continue;
        }
        ml_requantize_args to = k->bytes;
        to.y += (pixel + ox) * a.n;
        multiply_pixels(k, a, &to);
    }
}

static ml_status lines_bytes(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    work k = *(const work *)args;
    const ml_window *w = &k.blob->window;
    const int64_t n = k.blob->outputs, tap = w->x.size * (int64_t)ML_PANEL_DEPTHWISE;
    const int64_t shifts = k.l.form.shifts;
    k.scratch = ml_worker_scratch(c, worker);
    ml_depthwise_args a = {.lines = (const void *const *)(void *)k.scratch,
                           .rows = 1,
                           .y_row = shifts * w->x.out * n,
                           .height = k.l.form.groups * k.l.form.parts,
                           .width = w->x.size,
                           .tap_step = (k.l.alone ? 1 : w->x.dilation) * k.l.across,
                           .pixel_step = (k.l.height ? w->y.stride : w->x.stride) * k.l.across,
                           .n = n,
                           .packed_line = tap};
    a.packed_panel = tap * a.height;
    const int64_t shift_bytes = ml_depthwise_packed_bytes(c, a.height, k.l.form.element);
    point(&k);
    for (int64_t line = first, before = -1, count; line < end; line += count) {
        const int64_t batch = w->batches > 1 ? line / w->y.out : 0, at = line - batch * w->y.out;
        const int64_t left = ml_min_s64(end - line, w->y.out - at);
        /* Some output lines of a batch; in an upright image each pixel is a line. */
        if (batch != before) begin_batch(&k, before = batch);
        if (k.l.height) {
            count = ml_min_s64(left, k.l.height);
            interleave_upright(&k, batch, at, count);
            write_pixels(&k, &a, line, count, c->packed);
            continue;
        }
        /* Else chunk by chunk: groups are interleaved once for all lines that see them. */
        count = ml_min_s64(left, k.l.sets * shifts);
        for (int64_t ox = 0, pixels; ox < w->x.out; ox += pixels) {
            pixels = ml_min_s64(k.l.chunk, w->x.out - ox);
            interleave_sets(&k, batch, at, count, ox, pixels);
            for (int64_t i = 0; i < ml_min_s64(count, shifts); i++) {
                a.rows = ml_ceil_div(count - i, shifts);
                write_pixels(&k, &a, (line + i) * w->x.out + ox, pixels,
                             (const char *)c->packed + i * shift_bytes);
            }
        }
    }
    return ML_OK;
}

static int64_t batch_elements(const depthwise_blob *blob) {
    const ml_window *w = &blob->window;
    return (int64_t)w->y.in * w->x.in * w->channels;
}

/* Sets the arguments of requantization. Pixels that are treated as one have multipliers side by
 * side. */
static void fill_bytes(work *k) {
    const int64_t n = k->blob->outputs;
    const ml_requantized r = {.n = n, .y = ml_out(k->c, 0), .y_stride = n};
    k->bytes = ml_requantize_args_of(k->c, &r, k->limit);
    if (k->l.side == 1) return;
    for (int64_t i = 0; i < n * k->l.side; i++) {
        k->mantissas[i] = k->bytes.mantissas[i % n];
        k->shifts[i] = k->bytes.shifts[i % n];
    }
    k->bytes.mantissas = k->mantissas;
    k->bytes.shifts = k->shifts;
}

ml_status ml_depthwise_bytes(const ml_call *c) {
    const depthwise_blob *blob = c->blob;
    if (blob->form == DEPTHWISE_PIXEL) return ml_depthwise_pixel(c);
    work k = {.c = c, .blob = blob, .l = ml_depthwise_lay_out(c), .x = ml_in(c, 0)};
    k.x_batch = batch_elements(blob);
    const bool as_bytes = k.l.form.element == 1;
    const int32_t more = ml_in_tensor(c, 0)->type == ML_S8 && !as_bytes ? 128 : 0;
    const int32_t less = as_bytes ? 0 : c->env->simd->depthwise_s8_less;
    k.flip = more ^ less;
    k.zero = ((const ml_weighted *)c->derived)->x_zero + more - less;
    k.start = c->scratch;
    fill_start(&k);
    fill_bytes(&k);
    return ml_depthwise_run(c, k.l.form.shifts, lines_bytes, &k);
}

int64_t ml_depthwise_slices_bytes(const depthwise_blob *blob) {
    return ml_slices_bytes(blob->window.batches, batch_elements(blob));
}

/* The input is float; each batch is quantized by itself. */
ml_status ml_depthwise_hybrid(const ml_call *c) {
    const depthwise_blob *blob = c->blob;
    const int64_t batches = blob->window.batches, each = batch_elements(blob);
    const ml_slices slices = ml_slices_at(c->scratch, batches, each);
    const ml_status status = ml_quantize_slices(c, ml_in(c, 0), batches, each, true, &slices);
    work k = {
        .c = c, .blob = blob, .l = ml_depthwise_lay_out(c), .x = slices.bytes, .x_batch = each};
    k.flip = c->env->simd->depthwise_s8_less;
    k.slices = &slices;
    return status == ML_OK ? ml_depthwise_run(c, k.l.form.shifts, lines_bytes, &k) : status;
}
