/* pack_bytes.c -- weights of depthwise sums of bytes, in groups of lines as interleave_s8 makes them.
 *
 * Weights less theirs may need 9 bits; where the level's groups are of bytes they are packed as sums of `parts` bytes, and
 * each part meets the lines anew. */
#include "kernels/depthwise_conv/depthwise_conv.h"
#include "rules/bytes.h"

depthwise_groups ml_depthwise_groups(const ml_call *c) {
    const depthwise_blob *blob = c->blob;
    const int32_t zero = ((const ml_weighted *)c->derived)->w_zero;
    depthwise_groups f = {.group = c->env->simd->depthwise_s8_group, .parts = 1};
    f.groups = f.group == 4 ? (blob->window.y.size + (int64_t)3) / 4
                            : (blob->window.y.size + (int64_t)1) / 2;
    /* Of u8 less 0 the largest takes three parts: 255 = 127 + 127 + 1. */
    if (f.group == 4 && zero != 0) f.parts = zero == -128 ? 3 : 2;
    const ml_window_axis *y = &blob->window.y;
    const int64_t spare = f.group * f.groups - y->size;
    f.shifts = y->dilation > 1 || spare < y->stride ? 1 : spare / y->stride + 1;
    return f;
}

/* Weight `i` less its zero point, u8 counted from 128. */
static int32_t weight(const ml_call *c, const void *weights, int64_t i) {
    const int32_t type = ml_input(c, 1)->type, zero = ((const ml_weighted *)c->derived)->w_zero;
    if (type == ML_S4) return ml_nibble(weights, i) - zero;
    if (type == ML_S8) return ((const int8_t *)weights)[i] - zero;
    return ((const uint8_t *)weights)[i] - 128 - zero;
}

/* Part `part` of a weight: as much as a byte holds of what the parts before left. */
static int8_t part_of(int32_t w, int64_t part) {
    for (; part > 0; part--) w -= ml_clamp_s32(w, INT8_MIN, INT8_MAX);
    return (int8_t)ml_clamp_s32(w, INT8_MIN, INT8_MAX);
}

/* The weights of tap `tap` of a group whose first line is the window's line `first`: channels from `channel` on, each with one
 * byte, or int16, a line. */
static void pack_tap(const ml_call *c, const depthwise_groups *f, int64_t part, int64_t first,
                     int64_t tap, int64_t channel, void *to) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const void *weights = ml_value(c, 1);
    const int64_t n = blob->outputs, end = channel + n * ml_depthwise_side(n);
    for (int64_t i = 0; i < ML_PANEL_DEPTHWISE; i++)
        for (int64_t k = 0; k < f->group; k++) {
            const int64_t line = first + k, o = channel + i;
            const bool there = line >= 0 && line < w->y.size && (o < n || o < end);
            const int32_t value =
                there ? weight(c, weights, (line * w->x.size + tap) * n + o % n) : 0;
            if (f->group == 4) ((int8_t *)to)[i * 4 + k] = part_of(value, part);
            else ((int16_t *)to)[i * 2 + k] = (int16_t)value;
        }
}

/* All panels for lines of output that see the groups' lines from line `shift` on. */
static char *pack_panels(const ml_call *c, const depthwise_groups *f, int64_t shift, char *to) {
    const depthwise_blob *blob = c->blob;
    for (int64_t channel = 0; channel < blob->outputs; channel += ML_PANEL_DEPTHWISE)
        for (int64_t part = 0; part < f->parts; part++)
            for (int64_t first = -shift; first < f->groups * f->group - shift; first += f->group)
                for (int64_t tap = 0; tap < blob->window.x.size; tap++) {
                    pack_tap(c, f, part, first, tap, channel, to);
                    to += 4 * ML_PANEL_DEPTHWISE;
                }
    return to;
}

/* Panels for each shift, and behind them the sum of each channel's weights. */
int64_t ml_depthwise_pack_bytes(const ml_call *c, void *to) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const depthwise_groups f = ml_depthwise_groups(c);
    const int64_t n = blob->outputs, taps = (int64_t)w->y.size * w->x.size,
                  bytes = ml_depthwise_packed_bytes(c, f.groups * f.parts * f.shifts);
    if (!to || bytes < 0) return bytes < 0 ? bytes : bytes + n * (int64_t)sizeof(int32_t);
    char *next = to;
    for (int64_t shift = 0; shift < f.shifts; shift++)
        next = pack_panels(c, &f, shift * w->y.stride, next);
    uint32_t *sums = (uint32_t *)(void *)next;
    memset(sums, 0, (size_t)n * sizeof *sums);
    for (int64_t tap = 0; tap < taps; tap++)
        for (int64_t o = 0; o < n; o++) sums[o] += (uint32_t)weight(c, ml_value(c, 1), tap * n + o);
    return bytes + n * (int64_t)sizeof(int32_t);
}
