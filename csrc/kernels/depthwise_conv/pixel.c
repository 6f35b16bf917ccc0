/* pixel.c -- depthwise convolution of bytes whose output is one pixel that sees no padding, as in
 * networks that keep their past in variables. It is computed at once, on the caller's thread,
 * because preparing lines as bytes.c does takes longer than the sums. If the level can do without
 * interleaved lines, the primitive gets pointers to lines, or to their taps. */
#include "kernels/depthwise_conv/depthwise_conv.h"
#include "rules/bytes.h"

static bool is_whole(const ml_window_axis *a) {
    return a->out == 1 && a->before == 0 && (int64_t)(a->size - 1) * a->dilation < a->in;
}

bool ml_depthwise_is_pixel(const depthwise_blob *blob) {
    const ml_window *w = &blob->window;
    const double taps = (double)w->y.size * w->x.size * blob->outputs;
    return blob->form == DEPTHWISE_BYTES && w->batches == 1 && blob->multiplier == 1 &&
           w->x.dilation == 1 && is_whole(&w->x) && is_whole(&w->y) &&
           taps < (double)ML_BLOCK_ELEMENTS;
}

/* Offsets in scratch, which begins with the pointers to lines. */
typedef struct layout {
    int64_t start;
    int64_t lines; /* interleaved lines, if any */
    int64_t bytes;
} layout;

/* True if each tap has a pointer of its own, for depthwise_product_s8. */
static bool takes_bytes(const ml_call *c) {
    if (ml_depthwise_is_narrow(c)) return false;
    const int32_t zero = ((const ml_weighted *)c->derived)->y_zero;
    return c->env->simd->depthwise_s8_bytes && zero >= -255 && zero <= 255;
}

static layout lay_out(const ml_call *c, const depthwise_groups *f) {
    const depthwise_blob *blob = c->blob;
    const int64_t n = ml_round_up(blob->outputs * (int64_t)sizeof(int32_t), 64);
    const int64_t pointers =
        f->groups * f->parts * (takes_bytes(c) ? f->group * blob->window.x.size : 1);
    layout l = {.start = ml_round_up(pointers * (int64_t)sizeof(void *), 64)};
    l.lines = l.bytes = l.start + n;
    if (!takes_bytes(c) && !ml_depthwise_is_narrow(c))
        l.bytes += f->groups * blob->window.x.size * blob->outputs * f->element;
    return l;
}

int64_t ml_depthwise_pixel_bytes(const ml_call *c) {
    const depthwise_groups f = ml_depthwise_groups(c);
    return lay_out(c, &f).bytes;
}

/* Writes pointers to the window's taps, from the lines of a group in turn. Lines after the window's
 * last one have zeros as weights, so that a line of the window serves for them. */
static const void **point(const ml_call *c, int64_t group, const void **taps) {
    const ml_window *w = &((const depthwise_blob *)c->blob)->window;
    const int64_t n = w->channels, step = (int64_t)w->y.dilation * w->x.in * n;
    const char *x = ml_in(c, 0);
    for (int64_t line = w->y.size; line > 0; line -= group, x += group * step)
        for (int64_t tap = 0; tap < w->x.size; tap++)
            for (int64_t i = 0; i < group; i++) *taps++ = x + tap * n + (i < line ? i * step : 0);
    return taps;
}

/* Writes pointers to the window's lines, each of which has its taps side by side. */
static void point_lines(const ml_call *c, const void **lines) {
    const ml_window *w = &((const depthwise_blob *)c->blob)->window;
    const int64_t step = (int64_t)w->y.dilation * w->x.in * w->channels;
    const char *x = ml_in(c, 0);
    for (int64_t line = 0; line < w->y.size; line++, x += step) *lines++ = x;
}

/* Writes pointers to taps, for each part of the weights. */
static void point_parts(const ml_call *c, const depthwise_groups *f) {
    const void **taps = c->scratch;
    for (int64_t part = 0; part < f->parts; part++) taps = point(c, f->group, taps);
}

/* Interleaves the columns that the window sees, in groups of lines. Lines after the window's last
 * one have zeros as weights. */
static void interleave(const ml_call *c, const depthwise_groups *f, int32_t flip,
                       const void **lines, void *to) {
    const ml_window *w = &((const depthwise_blob *)c->blob)->window;
    const int64_t count = (int64_t)w->x.size * w->channels;
    const int64_t step = (int64_t)w->y.dilation * w->x.in * w->channels;
    const uint8_t *x = ml_in(c, 0);
    for (int64_t g = 0, line = 0; g < f->groups; g++) {
        ml_interleave_s8_args a = {
            .count = count, .flip = flip, .y = (char *)to + g * count * f->element};
        for (int64_t i = 0; i < f->group; i++, line++)
            a.lines[i] = line < w->y.size ? x + line * step : NULL;
        for (int64_t part = 0; part < f->parts; part++) lines[part * f->groups + g] = a.y;
        c->env->simd->interleave_s8(&a);
    }
}

ml_status ml_depthwise_pixel(const ml_call *c) {
    const depthwise_blob *blob = c->blob;
    const ml_weighted *w = c->derived;
    const depthwise_groups f = ml_depthwise_groups(c);
    const layout l = lay_out(c, &f);
    const int64_t n = blob->outputs, width = blob->window.x.size;
    const bool is_signed = ml_in_tensor(c, 0)->type == ML_S8, as_bytes = takes_bytes(c);
    const bool is_narrow = ml_depthwise_is_narrow(c), as_is = as_bytes || is_narrow;
    /* The start of each sum takes back the offset that interleaved bytes have. */
    const int32_t more = is_signed && !as_is ? 128 : 0;
    const int32_t less = as_is ? 0 : c->env->simd->depthwise_s8_less;
    const int64_t tap = width * ML_PANEL_DEPTHWISE;
    int32_t *start = ml_scratch(c, l.start);
    const int32_t limit = ml_depthwise_start(c, &f, w->x_zero + more - less, start);
    /* The lines of the one window. */
    if (is_narrow) point_lines(c, c->scratch);
    else if (as_bytes) point_parts(c, &f);
    else interleave(c, &f, more ^ less, c->scratch, ml_scratch(c, l.lines));
    /* The sums of all channels, which become bytes. */
    const ml_depthwise_args a = {.lines = c->scratch,
                                 .rows = 1,
                                 .y_row = 0,
                                 .first = 0,
                                 .low = 0.0f,
                                 .high = 0.0f,
                                 .height = f.groups * f.parts * (as_bytes ? width : 1),
                                 .width = as_bytes ? 1 : width,
                                 .tap_step = n,
                                 .pixels = 1,
                                 .pixel_step = n,
                                 .n = n,
                                 .packed = c->packed,
                                 .packed_line = as_bytes ? ML_PANEL_DEPTHWISE : tap,
                                 .packed_panel = tap * f.groups * f.parts,
                                 .start = start,
                                 .lines_are = !as_bytes   ? ML_LINES_GROUPED
                                              : is_signed ? ML_LINES_S8
                                                          : ML_LINES_U8};
    const ml_requantized r = {.n = n, .y = ml_out(c, 0), .y_stride = n};
    const ml_requantize_args bytes = ml_requantize_args_of(c, &r, limit);
    if (is_narrow) c->env->simd->depthwise_narrow_s8(&a, &bytes);
    else c->env->simd->depthwise_product_s8(c->env->simd, &a, &bytes);
    return ML_OK;
}
