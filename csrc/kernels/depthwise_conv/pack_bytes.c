/* pack_bytes.c -- packs the weights of depthwise convolutions of bytes, in groups of lines like
 * those that interleave_s8 makes of the input.
 *
 * A weight minus its zero point may need 9 bits. If the level's groups consist of bytes, it is
 * packed as the sum of `parts` bytes, and the lines are multiplied by each part. */
#include "kernels/depthwise_conv/depthwise_conv.h"
#include "rules/bytes.h"

depthwise_groups ml_depthwise_groups(const ml_call *c) {
    const depthwise_blob *blob = c->blob;
    const int32_t zero = ((const ml_weighted *)c->derived)->w_zero;
    const int64_t group = c->env->simd->depthwise_s8_group;
    depthwise_groups f = {.group = group, .element = ml_depthwise_element(group), .parts = 1};
    f.groups = ml_ceil_div(blob->window.y.size, group);
    if (ml_depthwise_is_narrow(c)) f.element = 1;
    /* With a zero point of 0, the largest u8 takes three parts: 255 = 127 + 127 + 1. */
    if (f.group == 4 && zero != 0) f.parts = zero == -128 ? 3 : 2;
    const ml_window_axis *y = &blob->window.y;
    const int64_t spare = f.group * f.groups - y->size;
    f.shifts = y->dilation > 1 || spare < y->stride ? 1 : spare / y->stride + 1;
    return f;
}

/* The zero point is subtracted from the weights, and the lines between shifts are a stride. */
int32_t ml_depthwise_layout(const ml_call *c) {
    const depthwise_blob *blob = c->blob;
    const depthwise_groups f = ml_depthwise_groups(c);
    const int64_t step = f.shifts > 1 ? blob->window.y.stride : 0; /* less than a group */
    const int64_t zero = ((const ml_weighted *)c->derived)->w_zero;
    return (int32_t)(((zero * 2 + ml_depthwise_is_narrow(c)) * 8 + f.shifts) * 8 + step);
}

/* Reads the weights of `count` channels from element `at` on, minus their zero point (128 is
 * subtracted from both if they are u8); the other channels of the panel get zeros. */
static void read_weights(const ml_call *c, int64_t at, int64_t count,
                         int32_t values[ML_PANEL_DEPTHWISE]) {
    const int32_t type = ml_in_tensor(c, 1)->type, zero = ((const ml_weighted *)c->derived)->w_zero;
    const uint8_t *weights = ml_value(c, 1), flip = type == ML_U8 ? 128 : 0;
    int8_t bytes[ML_PANEL_DEPTHWISE] = {0};
    if (type == ML_S4)
        for (int64_t i = 0; i < count; i++) bytes[i] = (int8_t)ml_nibble(weights, at + i);
    else if (count == ML_PANEL_DEPTHWISE) memcpy(bytes, weights + at, sizeof bytes);
    else memcpy(bytes, weights + at, (size_t)count);
    for (int64_t i = 0; i < ML_PANEL_DEPTHWISE; i++) values[i] = (int8_t)(bytes[i] ^ flip) - zero;
    for (int64_t i = count; i < ML_PANEL_DEPTHWISE; i++) values[i] = 0;
}

/* Takes part `part` of each value: the rest that the parts before it left, clamped to a byte. */
static void take_part(int64_t part, int32_t values[ML_PANEL_DEPTHWISE]) {
    for (; part > 0; part--)
        for (int64_t i = 0; i < ML_PANEL_DEPTHWISE; i++)
            values[i] -= ml_clamp_s32(values[i], INT8_MIN, INT8_MAX);
    for (int64_t i = 0; i < ML_PANEL_DEPTHWISE; i++)
        values[i] = ml_clamp_s32(values[i], INT8_MIN, INT8_MAX);
}

/* Packs tap `tap` of a group that begins with the window's line `first`, for the channels from
 * `channel` on: a byte, or an int16, for each line. */
static void pack_tap(const ml_call *c, const depthwise_groups *f, int64_t part, int64_t first,
                     int64_t tap, int64_t channel, uint32_t to[ML_PANEL_DEPTHWISE]) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const int64_t n = blob->outputs, count = ml_min_s64(n - channel, ML_PANEL_DEPTHWISE);
    const int64_t bits = 32 / f->group, low = ml_max_s64(0, -first);
    const int64_t high = ml_min_s64(f->group, w->y.size - first);
    const uint32_t mask = f->group == 4 ? 0xFF : 0xFFFF;
    int32_t values[ML_PANEL_DEPTHWISE];
    memset(to, 0, ML_PANEL_DEPTHWISE * sizeof *to);
    for (int64_t k = low; k < high; k++) {
        read_weights(c, ((first + k) * w->x.size + tap) * n + channel, count, values);
        for (int64_t i = n; i < n * ml_depthwise_side(n); i++) values[i] = values[i - n];
        if (f->parts > 1) take_part(part, values);
        for (int64_t i = 0; i < ML_PANEL_DEPTHWISE; i++)
            to[i] |= ((uint32_t)values[i] & mask) << (k * bits);
    }
}

static void put_elements(const uint32_t packed[ML_PANEL_DEPTHWISE], int64_t element, char *to) {
    uint16_t words[ML_PANEL_DEPTHWISE];
    if (element == sizeof *packed) {
        memcpy(to, packed, ML_PANEL_DEPTHWISE * sizeof *packed);
    } else if (element == sizeof *words) {
        for (int64_t i = 0; i < ML_PANEL_DEPTHWISE; i++) words[i] = (uint16_t)packed[i];
        memcpy(to, words, sizeof words);
    } else {
        for (int64_t i = 0; i < ML_PANEL_DEPTHWISE; i++) to[i] = (char)packed[i];
    }
}

/* Packs all panels for the output lines whose windows begin with line `shift` of the groups. */
static char *pack_panels(const ml_call *c, const depthwise_groups *f, int64_t shift, char *to) {
    const depthwise_blob *blob = c->blob;
    for (int64_t channel = 0; channel < blob->outputs; channel += ML_PANEL_DEPTHWISE)
        for (int64_t part = 0; part < f->parts; part++)
            for (int64_t first = -shift; first < f->groups * f->group - shift; first += f->group)
                for (int64_t tap = 0; tap < blob->window.x.size; tap++) {
                    uint32_t packed[ML_PANEL_DEPTHWISE];
                    pack_tap(c, f, part, first, tap, channel, packed);
                    put_elements(packed, f->element, to);
                    to += ML_PANEL_DEPTHWISE * f->element;
                }
    return to;
}

/* Panels for each shift, and after them the sum of each channel's weights. */
int64_t ml_depthwise_pack_bytes(const ml_call *c, void *to) {
    const depthwise_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const depthwise_groups f = ml_depthwise_groups(c);
    const int64_t n = blob->outputs, taps = (int64_t)w->y.size * w->x.size,
                  bytes = ml_depthwise_packed_bytes(c, f.groups * f.parts * f.shifts, f.element);
    if (!to || bytes < 0) return bytes < 0 ? bytes : bytes + n * (int64_t)sizeof(int32_t);
    char *panels = to;
    for (int64_t shift = 0; shift < f.shifts; shift++)
        panels = pack_panels(c, &f, shift * w->y.stride, panels);
    uint32_t *next = (uint32_t *)(void *)panels;
    memset(next, 0, (size_t)n * sizeof *next);
    for (int64_t tap = 0; tap < taps; tap++)
        for (int64_t o = 0; o < n; o += ML_PANEL_DEPTHWISE) {
            const int64_t count = ml_min_s64(n - o, ML_PANEL_DEPTHWISE);
            int32_t values[ML_PANEL_DEPTHWISE];
            read_weights(c, tap * n + o, count, values);
            for (int64_t i = 0; i < count; i++) next[o + i] += (uint32_t)values[i];
        }
    return bytes + n * (int64_t)sizeof(int32_t);
}
