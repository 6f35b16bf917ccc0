/* bytes_layout.c -- decides how much of an image is interleaved and computed at a time, and lays it
 * out in scratch. */
#include "kernels/depthwise_conv/bytes_layout.h"

enum {
    CHANNELS = 128, /* of a hybrid, computed together; a multiple of ML_PANEL_DEPTHWISE */
    PIXELS = 16,
    FREE_COLUMNS = 64,
    LEAST_HEIGHT = 4, /* the fewest pixels of an upright image computed at a time */
    NEAR_GROUPS = 6144, /* groups interleaved at a time; they stay in the cache */
    SET_BYTES = 1024, /* columns that are a multiple of it apart share sets of the cache */
    LINE_BYTES = 64 /* of the cache */
};

static int64_t height_of(const depthwise_blob *blob) {
    const ml_window_axis *x = &blob->window.x, *y = &blob->window.y;
    const bool is_one_wide = x->in == 1 && x->out == 1 && x->size == 1 && blob->multiplier == 1;
    if (!is_one_wide || y->dilation > 1 || y->out < LEAST_HEIGHT) return 0;
    return ml_min_s64(y->out, LEAST_HEIGHT + NEAR_GROUPS / blob->outputs / y->stride);
}

/* The number of pixels in a part of an output line. Parts are about equal and consist of whole
 * tiles; a line with many channels is not divided. */
static int64_t chunk_of(const ml_window_axis *x, int64_t extent, int64_t column) {
    const int64_t most = (NEAR_GROUPS / column - extent) / x->stride + 1;
    if (most < PIXELS || most >= x->out) return x->out;
    return ml_min_s64(ml_round_up(ml_even_part(x->out, most), 8), x->out);
}

/* The elements from column to column. Pixels read the same channels of neighbouring columns at the
 * same time, and few columns have room in the same sets of the cache. */
static int64_t across_of(const depthwise_layout *l, const depthwise_blob *blob) {
    const int64_t n = blob->outputs;
    if (l->alone || l->height || blob->multiplier > 1 || n * l->form.element % SET_BYTES != 0)
        return n;
    return n + LINE_BYTES / l->form.element;
}

/* True if lines of output see lines in common, each of which is held once. */
static bool shares_lines(const depthwise_groups *f, const ml_window_axis *y) {
    return f->group == 1 && y->dilation == 1 && y->stride < y->size;
}

depthwise_layout ml_depthwise_lay_out(const ml_call *c) {
    const depthwise_blob *blob = c->blob;
    const ml_window_axis *x = &blob->window.x;
    const int64_t n = blob->outputs, extent = (int64_t)(x->size - 1) * x->dilation + 1;
    const int64_t all = ml_max_s64(x->out - 1, 0) * x->stride + extent;
    depthwise_layout l = {.form = ml_depthwise_groups(c), .height = height_of(blob)};
    /* If most taps lie outside the image, pixels are computed one by one. */
    l.alone = ml_max_s64((int64_t)x->before + x->in, all) > 2 * (int64_t)x->in + FREE_COLUMNS;
    l.chunk = ml_max_s64(l.alone ? x->out : chunk_of(x, extent, l.form.groups * n), 1);
    l.columns = l.alone ? x->in : (l.chunk - 1) * x->stride + extent;
    l.across = across_of(&l, blob);
    l.channels = ml_max_s64(ml_min_s64(n, CHANNELS), 1);
    l.pixels = l.alone ? 1 : l.height ? l.height : l.chunk;
    /* Sums of a hybrid are stored, and have to stay in the cache. */
    const bool is_hybrid = blob->form == DEPTHWISE_HYBRID;
    if (is_hybrid && l.pixels > PIXELS)
        l.pixels = ml_min_s64(CHANNELS * PIXELS / l.channels / 8 * 8, l.pixels);
    /* Short lines: as many sets of output lines together as find room for their groups. */
    l.sets = 1;
    if (!is_hybrid && !l.alone && !l.height && l.chunk == x->out) {
        const ml_window_axis *y = &blob->window.y;
        const int64_t all_sets = ml_ceil_div(y->out, l.form.shifts);
        int64_t fit = NEAR_GROUPS / ml_max_s64(l.form.groups * l.columns * n, 1);
        if (shares_lines(&l.form, y))
            fit = (2 * NEAR_GROUPS / ml_max_s64(l.columns * n, 1) - y->size) / y->stride + 1;
        l.sets = ml_max_s64(ml_min_s64(fit, all_sets), 1);
    }
    /* Groups that several sets see are held once. */
    l.held = l.sets * l.form.groups;
    if (l.sets > 1 && shares_lines(&l.form, &blob->window.y))
        l.held = (l.sets - 1) * blob->window.y.stride + l.form.groups;
    l.side = x->stride > 1 || l.alone || l.height ? 1 : ml_depthwise_side(n);
    /* Offsets in scratch. */
    const int64_t element = l.form.element;
    int64_t groups = l.held;
    int64_t narrow = blob->multiplier > 1 ? element * x->in * blob->window.channels : 0;
    l.lines = ml_round_up(l.sets * l.form.groups * l.form.parts * (int64_t)sizeof(void *), 64);
    if (l.height) {
        l.columns = ml_depthwise_starts(&l.form, &blob->window.y, l.height);
        narrow = (l.columns + l.form.group - 1) * n;
        groups = 1;
    }
    l.window = l.lines + ml_round_up(groups * l.columns * l.across * element, 64);
    l.narrow = l.window + ml_round_up(l.alone ? groups * x->size * n * element : 0, 64);
    l.start = l.narrow + ml_round_up(narrow, 64);
    l.bytes = l.start;
    if (!is_hybrid) return l;
    l.sums = l.start + ml_round_up(n * l.side * 4, 64);
    l.scales = l.sums + ml_round_up(l.pixels * l.channels * 4, 64);
    l.bytes = l.scales + l.pixels * (int64_t)sizeof(float);
    return l;
}

int64_t ml_depthwise_bytes_bytes(const ml_call *c) { return ml_depthwise_lay_out(c).bytes; }
