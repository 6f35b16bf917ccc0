/* images.c -- walks of primitives over windows and pixels of images. */
#include <math.h>
#include <string.h>

#include "walk.h"

/* depthwise_f32, depthwise_s8, interleave_s8 -------------------------------------------------- */

enum { MOST_LINES = 5, MOST_PIXELS = 24, MOST_CHANNELS = 80, MOST_ROWS = 3 };

/* Draws steps with which all windows fit in their lines; returns the elements of a line. */
static int64_t draw_windows(walk *w, ml_depthwise_args *p, int64_t most_width) {
    static const int64_t widths[] = {1, 2, 3, 3, 3, 5, 5, 7};
    p->n = draw(w, 0, 7) ? draw(w, 1, 40) : draw(w, 1, MOST_CHANNELS);
    p->width = widths[draw(w, 0, 7)] < most_width ? widths[draw(w, 0, 7)] : most_width;
    p->tap_step = draw(w, 0, 3) ? p->n : 2 * p->n;
    p->pixel_step = p->n * draw(w, 1, 3);
    p->pixels = draw(w, 1, MOST_PIXELS);
    p->first = draw(w, 0, 5);
    p->rows = draw(w, 1, MOST_ROWS);
    p->y_row = p->pixels * p->n + draw(w, 0, 9);
    return p->first + (p->pixels - 1) * p->pixel_step + (p->width - 1) * p->tap_step + p->n;
}

static void depthwise_f32_once(walk *w, int64_t height) {
    const void *lines[MOST_ROWS * 140];
    double exact[MOST_CHANNELS], bounds[MOST_CHANNELS];
    begin_case(w);
    ml_depthwise_args p = {.lines = lines, .height = height};
    const int64_t count = draw_windows(w, &p, 7);
    float *line[MOST_LINES];
    for (int i = 0; i < MOST_LINES; i++) line[i] = floats(w, count, -1, 1);
    for (int64_t i = 0; i < p.rows * height; i++) lines[i] = line[i % MOST_LINES];
    p.packed_line = p.width * ML_PANEL_DEPTHWISE;
    p.packed_panel = height * p.packed_line;
    const int64_t panels = (p.n + ML_PANEL_DEPTHWISE - 1) / ML_PANEL_DEPTHWISE;
    const float *packed = p.packed = floats(w, panels * p.packed_panel, -1, 1);
    const float *start = p.start = draw(w, 0, 1) ? floats(w, p.n, -1, 1) : NULL;
    p.low = draw(w, 0, 1) ? 0 : -INFINITY;
    p.high = draw(w, 0, 1) ? 2 : INFINITY;
    float *y = p.y = room(w, 4 * p.rows * p.y_row);
    w->simd->depthwise_f32(&p);
    for (int64_t at_pixel = 0; at_pixel < p.rows * p.pixels; at_pixel++) {
        const int64_t row = at_pixel / p.pixels, pixel = at_pixel % p.pixels;
        for (int64_t c = 0; c < p.n; c++) {
            double sum = start ? (double)start[c] : 0, sizes = fabs(sum);
            for (int64_t i = 0; i < height * p.width; i++) {
                const int64_t at = p.first + pixel * p.pixel_step + i % p.width * p.tap_step + c;
                const double product = (double)line[(row * height + i / p.width) % MOST_LINES][at] *
                                       packed[c / ML_PANEL_DEPTHWISE * p.packed_panel +
                                              i * ML_PANEL_DEPTHWISE + c % ML_PANEL_DEPTHWISE];
                sum += product;
                sizes += fabs(product);
            }
            exact[c] = fmin(fmax(sum, p.low), p.high);
            bounds[c] = 8 * 0x1p-23 * sizes;
        }
        expect_near(w, y + row * p.y_row + pixel * p.n, exact, bounds, p.n);
    }
}

void walk_depthwise_f32(walk *w) {
    for (int i = 0; i < 1500; i++) depthwise_f32_once(w, draw(w, 1, MOST_LINES));
    for (int i = 0; i < 20; i++) depthwise_f32_once(w, draw(w, 40, 140));
}

static void interleave_once(walk *w, int64_t count) {
    begin_case(w);
    const int32_t group = w->simd->depthwise_s8_group;
    ml_interleave_s8_args p = {.count = count, .flip = draw(w, 0, 1) ? 128 : 0};
    for (int i = 0; i < group; i++) p.lines[i] = draw(w, 0, 3) ? bytes(w, count) : NULL;
    p.pad = (int32_t)draw(w, 0, 255);
    const int64_t element = ml_depthwise_element(group), size = element * count;
    uint8_t *y = p.y = room(w, size), *expected = room(w, size);
    w->simd->interleave_s8(&p);
    memset(expected, 0, (size_t)size);
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < group; k++)
            expected[element * i + k * element / group] =
                (uint8_t)(p.lines[k] ? p.lines[k][i] ^ p.flip : p.pad);
    expect_bytes(w, y, expected, size);
}

void walk_interleave_s8(walk *w) {
    for (int64_t count = 0; count < 150; count++)
        for (int i = 0; i < 6; i++) interleave_once(w, count);
}

/* Lays out weights [line][tap][channel] and lines of bytes, `count` elements each, as the level
 * takes them. */
static void lay_out(walk *w, const ml_simd *simd, const int8_t *weights, const uint8_t *const *at,
                    int64_t lines, int64_t count, ml_depthwise_args *p, const void **groups) {
    const int64_t group = simd->depthwise_s8_group, element = ml_depthwise_element(group);
    const int64_t size = element / group;
    const int64_t panels = (p->n + ML_PANEL_DEPTHWISE - 1) / ML_PANEL_DEPTHWISE;
    p->height = (lines + group - 1) / group;
    p->lines = groups;
    p->packed_line = p->width * ML_PANEL_DEPTHWISE;
    p->packed_panel = p->height * p->packed_line;
    int8_t *packed = room(w, element * panels * p->packed_panel);
    memset(packed, 0, (size_t)(element * panels * p->packed_panel));
    for (int64_t i = 0; i < lines * p->width * p->n; i++) {
        const int64_t line = i / (p->width * p->n), tap = i / p->n % p->width, c = i % p->n;
        const int16_t v = weights[i];
        int8_t *to = packed + element * (c / ML_PANEL_DEPTHWISE * p->packed_panel +
                                         line / group * p->packed_line + tap * ML_PANEL_DEPTHWISE +
                                         c % ML_PANEL_DEPTHWISE);
        memcpy(to + line % group * size, &v, (size_t)size);
    }
    for (int64_t i = 0; i < p->rows * p->height; i++) { /* each row begins a line further */
        const int64_t row = i / p->height, first = i % p->height * group;
        ml_interleave_s8_args to = {.count = count, .flip = simd->depthwise_s8_less, .pad = 0};
        to.y = room(w, element * count);
        for (int64_t k = 0; k < group && first + k < lines; k++)
            to.lines[k] = at[(first + k + row) % lines];
        simd->interleave_s8(&to);
        groups[i] = to.y;
    }
    p->packed = packed;
}

/* What scalar's sums begin with, of bytes that are not depthwise_s8_less. */
static const int32_t *start_of_scalar(walk *w, const int32_t *start, const int8_t *weights,
                                      int64_t taps, int64_t n) {
    const int32_t less = w->simd->depthwise_s8_less;
    if (less == 0) return start;
    uint32_t *sums = room(w, 4 * n);
    for (int64_t c = 0; c < n; c++) {
        sums[c] = start ? (uint32_t)start[c] : 0;
        for (int64_t tap = 0; tap < taps; tap++) sums[c] -= (uint32_t)(less * weights[tap * n + c]);
    }
    return (const int32_t *)sums;
}

void walk_depthwise_s8(walk *w) {
    for (int i = 0; i < 1500; i++) {
        const void *groups[MOST_ROWS * MOST_LINES];
        const uint8_t *lines[MOST_LINES];
        begin_case(w);
        ml_depthwise_args p = {0};
        const int64_t height = draw(w, 1, MOST_LINES), count = draw_windows(w, &p, 7);
        for (int64_t k = 0; k < height; k++) lines[k] = bytes(w, count);
        const int8_t *weights = (const int8_t *)bytes(w, height * p.width * p.n);
        p.start = draw(w, 0, 1) ? odd_ints(w, p.n, -9999, 9999) : NULL;
        const int64_t size = 4 * p.rows * p.y_row;
        lay_out(w, w->simd, weights, lines, height, count, &p, groups);
        int32_t *y = p.y = memset(room(w, size), 0, (size_t)size);
        w->simd->depthwise_s8(&p);
        p.start = start_of_scalar(w, p.start, weights, height * p.width, p.n);
        lay_out(w, w->scalar, weights, lines, height, count, &p, groups);
        int32_t *expected = p.y = memset(room(w, size), 0, (size_t)size);
        w->scalar->depthwise_s8(&p);
        expect_bytes(w, y, expected, size);
    }
}

/* Compares with the scalar variants of its two halves. */
static void depthwise_product_once(walk *w) {
    const void *groups[MOST_ROWS * MOST_LINES];
    const uint8_t *lines[MOST_LINES];
    begin_case(w);
    ml_depthwise_args p = {0};
    const int64_t height = draw(w, 1, MOST_LINES), count = draw_windows(w, &p, 7);
    for (int64_t k = 0; k < height; k++) lines[k] = bytes(w, count);
    const int8_t *weights = (const int8_t *)bytes(w, height * p.width * p.n);
    const bool limited = draw(w, 0, 2);
    p.start = draw(w, 0, 1) ? NULL
              : limited     ? ints(w, p.n, -99999, 99999)
                            : odd_ints(w, p.n, -99999, 99999);
    const bool with_sign = draw(w, 0, 1);
    ml_requantize_args to = {.n = p.n, .limit = limited ? ML_LIMIT : 0};
    to.mantissas = ints(w, p.n, 1 << 30, INT32_MAX);
    int32_t *shifts = draw(w, 0, 1) ? ints(w, p.n, -31, 3) : ints(w, p.n, -20, 0);
    if (draw(w, 0, 1)) shifts[draw(w, 0, p.n - 1)] = 3; /* one channel's sums are not small */
    to.shifts = shifts;
    to.zero = (int32_t)(with_sign ? draw(w, -128, 127) : draw(w, 0, 255));
    to.low = (int32_t)(with_sign ? draw(w, -128, 0) : draw(w, 0, 100));
    to.high = (int32_t)(with_sign ? draw(w, 0, 127) : draw(w, 100, 255));
    if (draw(w, 0, 2) == 0 && to.zero <= to.high) to.low = to.zero; /* as after a RELU */
    to.y_stride = p.n + draw(w, 0, 3);
    const int64_t y_row = p.y_row = p.pixels * to.y_stride + draw(w, 0, 3);
    const int64_t size = (p.rows - 1) * y_row + (p.pixels - 1) * to.y_stride + p.n;
    lay_out(w, w->simd, weights, lines, height, count, &p, groups);
    int8_t *y = p.y = to.y = room(w, size);
    w->simd->depthwise_product_s8(w->simd, &p, &to);
    p.start = start_of_scalar(w, p.start, weights, height * p.width, p.n);
    lay_out(w, w->scalar, weights, lines, height, count, &p, groups);
    int8_t *expected = to.y = room(w, size);
    p.y_row = p.pixels * p.n;
    to.sums = p.y = room(w, 4 * p.rows * p.y_row);
    to.rows = p.pixels;
    to.sums_stride = p.n;
    w->scalar->depthwise_s8(&p);
    for (int64_t row = 0; row < p.rows; row++, to.sums += p.y_row, to.y += y_row)
        w->scalar->requantize(&to);
    expect_bytes(w, y, expected, size);
}

/* Bytes as they lie: taps of one line each, beside sums in plain C. */
static void depthwise_bytes_once(walk *w) {
    const void *taps[MOST_ROWS * (MOST_LINES + 3)]; /* a group of four may need three more */
    const uint8_t *lines[MOST_LINES];
    const void *unused[MOST_LINES];
    int32_t sums[MOST_CHANNELS];
    begin_case(w);
    ml_depthwise_args p = {0}, laid = {0};
    const int64_t height = draw(w, 1, MOST_LINES), count = draw_windows(w, &p, 1);
    const int64_t group = w->simd->depthwise_s8_group;
    const bool with_sign = draw(w, 0, 1);
    for (int64_t k = 0; k < height; k++) lines[k] = bytes(w, count);
    const int8_t *weights = (const int8_t *)bytes(w, height * p.n);
    const int32_t *start = draw(w, 0, 1) ? NULL : ints(w, p.n, -99999, 99999);
    ml_requantize_args to = {.rows = 1, .n = p.n, .limit = draw(w, 0, 1) ? ML_LIMIT : 0};
    to.mantissas = ints(w, p.n, 1 << 30, INT32_MAX);
    to.shifts = draw(w, 0, 1) ? ints(w, p.n, -31, 3) : ints(w, p.n, -20, 0);
    to.zero = (int32_t)(with_sign ? draw(w, -128, 127) : draw(w, 0, 255));
    draw_limits(w, with_sign, &to.low, &to.high);
    if (draw(w, 0, 2) == 0 && to.zero <= to.high) to.low = to.zero; /* as after a RELU */
    to.y_stride = p.n + draw(w, 0, 3);
    p.y_row = p.pixels * to.y_stride + draw(w, 0, 3);
    const int64_t size = (p.rows - 1) * p.y_row + (p.pixels - 1) * to.y_stride + p.n;
    laid = p, laid.rows = 1;
    lay_out(w, w->simd, weights, lines, height, count, &laid, unused);
    p.lines = taps, p.height = laid.height, p.start = start;
    p.packed = laid.packed, p.packed_line = laid.packed_line, p.packed_panel = laid.packed_panel;
    p.lines_are = with_sign ? ML_LINES_S8 : ML_LINES_U8;
    for (int64_t i = 0; i < p.rows * p.height * group; i++) {
        const int64_t row = i / (p.height * group), line = i % (p.height * group);
        taps[i] = lines[line < height ? (line + row) % height : 0];
    }
    int8_t *y = memset(room(w, size), 0, (size_t)size), *expected = room(w, size);
    memset(expected, 0, (size_t)size);
    to.y = y;
    w->simd->depthwise_product_s8(w->simd, &p, &to);
    to.sums = sums;
    for (int64_t i = 0; i < p.rows * p.pixels; i++) {
        const int64_t row = i / p.pixels, pixel = i % p.pixels;
        for (int64_t c = 0; c < p.n; c++) {
            sums[c] = start ? start[c] : 0;
            for (int64_t k = 0; k < height; k++) {
                const uint8_t x = lines[(k + row) % height][p.first + pixel * p.pixel_step + c];
                sums[c] += (with_sign ? (int8_t)x : x) * weights[k * p.n + c];
            }
        }
        to.y = expected + row * p.y_row + pixel * to.y_stride;
        w->scalar->requantize(&to);
    }
    expect_bytes(w, y, expected, size);
}

void walk_depthwise_product_s8(walk *w) {
    for (int i = 0; i < 1500; i++) depthwise_product_once(w);
    for (int i = 0; i < 1500 && w->simd->depthwise_s8_bytes; i++) depthwise_bytes_once(w);
}

/* Lines as they lie, beside sums in plain C. */
static void depthwise_narrow_once(walk *w) {
    const void *lines[MOST_ROWS * MOST_LINES];
    int32_t sums[MOST_CHANNELS];
    begin_case(w);
    ml_depthwise_args p = {.lines = lines};
    const int64_t height = p.height = draw(w, 1, MOST_LINES), count = draw_windows(w, &p, 7);
    const int64_t panels = (p.n + ML_PANEL_DEPTHWISE - 1) / ML_PANEL_DEPTHWISE;
    if (draw(w, 0, 3) == 0) p.pixels = 1;
    for (int64_t i = 0; i < p.rows * height; i++)
        lines[i] = i < height ? bytes(w, count) : lines[(i + i / height) % height];
    p.packed_line = p.width * ML_PANEL_DEPTHWISE;
    p.packed_panel = height * p.packed_line;
    int8_t *packed = (int8_t *)bytes(w, panels * p.packed_panel);
    for (int64_t i = 0; i < panels * p.packed_panel; i++)
        if (packed[i] == -128) packed[i] = draw(w, 0, 1) ? -127 : 127;
    p.packed = packed;
    const int32_t *start = p.start = draw(w, 0, 1) ? NULL : ints(w, p.n, -99999, 99999);
    ml_requantize_args to = {.rows = 1, .n = p.n, .limit = draw(w, 0, 1) ? ML_LIMIT : 0};
    to.mantissas = ints(w, p.n, 1 << 30, INT32_MAX);
    to.shifts = draw(w, 0, 1) ? ints(w, p.n, -31, 3) : ints(w, p.n, -20, 0);
    to.zero = (int32_t)draw(w, -128, 127);
    draw_limits(w, true, &to.low, &to.high);
    if (draw(w, 0, 2) == 0 && to.zero <= to.high) to.low = to.zero; /* as after a RELU */
    to.y_stride = p.n + draw(w, 0, 3);
    p.y_row = p.pixels * to.y_stride + draw(w, 0, 3);
    const int64_t size = (p.rows - 1) * p.y_row + (p.pixels - 1) * to.y_stride + p.n;
    int8_t *y = memset(room(w, size), 0, (size_t)size), *expected = room(w, size);
    memset(expected, 0, (size_t)size);
    to.y = y;
    w->simd->depthwise_narrow_s8(&p, &to);
    to.sums = sums;
    for (int64_t i = 0; i < p.rows * p.pixels; i++) {
        const int64_t row = i / p.pixels, pixel = i % p.pixels;
        for (int64_t c = 0; c < p.n; c++) {
            const int8_t *of = packed + c / ML_PANEL_DEPTHWISE * p.packed_panel;
            sums[c] = start ? start[c] : 0;
            for (int64_t k = 0; k < height * p.width; k++) {
                const int8_t *x = lines[row * height + k / p.width];
                sums[c] += x[p.first + pixel * p.pixel_step + k % p.width * p.tap_step + c] *
                           of[k * ML_PANEL_DEPTHWISE + c % ML_PANEL_DEPTHWISE];
            }
        }
        to.y = expected + row * p.y_row + pixel * to.y_stride;
        w->scalar->requantize(&to);
    }
    expect_bytes(w, y, expected, size);
}

void walk_depthwise_narrow_s8(walk *w) {
    for (int i = 0; i < 1500; i++) depthwise_narrow_once(w);
}

/* Pools --------------------------------------------------------------------------------------- */

typedef void pool_fn(const ml_pool_args *args);

static void pool_once(walk *w, pool_fn *made_by, pool_fn *expected_by, int64_t element) {
    begin_case(w);
    ml_pool_args p = {.height = draw(w, 1, 4), .width = draw(w, 1, 5), .pixels = draw(w, 1, 6)};
    const bool many = draw(w, 0, 3) == 0;
    if (many) p.pixels = draw(w, 6, 90);
    p.n = many ? draw(w, 1, 20) : draw(w, 0, 7) ? draw(w, 1, 80) : draw(w, 80, 300);
    p.x_after = draw(w, 0, 1) ? draw(w, 0, 70) : 0;
    p.y_after = draw(w, 0, 1) ? draw(w, 0, 70) : 0;
    p.pixel_step = p.n * draw(w, 1, 3);
    p.line_step = (p.pixels - 1) * p.pixel_step + p.width * p.n + draw(w, 0, 3);
    const int64_t count =
        (p.height - 1) * p.line_step + (p.pixels - 1) * p.pixel_step + p.width * p.n + p.x_after;
    p.x = element == 1 ? (void *)bytes(w, count) : (void *)odd_floats(w, count, -9, 9);
    p.is_signed = (int32_t)draw(w, 0, 1);
    const bool whole = draw(w, 0, 1);
    draw_limits(w, p.is_signed, &p.low, &p.high);
    p.minimum = whole ? -INFINITY : -2;
    p.maximum = whole ? INFINITY : 3;
    const int64_t size = p.pixels * p.n;
    void *y = p.y = room(w, element * (size + p.y_after));
    made_by(&p);
    void *expected = p.y = room(w, element * size);
    expected_by(&p);
    if (element == 1) expect_bytes(w, y, expected, size);
    else expect_equal(w, y, expected, size);
}

void walk_max_pool_f32(walk *w) {
    for (int i = 0; i < 1500; i++) pool_once(w, w->simd->max_pool_f32, w->scalar->max_pool_f32, 4);
}
void walk_max_pool_s8(walk *w) {
    for (int i = 0; i < 1500; i++) pool_once(w, w->simd->max_pool_s8, w->scalar->max_pool_s8, 1);
}
void walk_average_pool_f32(walk *w) {
    for (int i = 0; i < 1500; i++)
        pool_once(w, w->simd->average_pool_f32, w->scalar->average_pool_f32, 4);
}
void walk_average_pool_s8(walk *w) {
    for (int i = 0; i < 1500; i++)
        pool_once(w, w->simd->average_pool_s8, w->scalar->average_pool_s8, 1);
}

/* Blends -------------------------------------------------------------------------------------- */

typedef void blend_fn(const ml_blend_args *args);

static void blend_once(walk *w, blend_fn *made_by, blend_fn *expected_by, int64_t element,
                       bool fixed) {
    enum { COLUMNS = 9 };
    begin_case(w);
    ml_blend_args p = {.pixels = draw(w, 1, draw(w, 0, 1) ? 12 : 60), .n = draw(w, 1, 70)};
    p.x_after = draw(w, 0, 1) ? draw(w, 0, 70) : 0;
    p.y_after = draw(w, 0, 1) ? draw(w, 0, 70) : 0;
    const int64_t count = COLUMNS * p.n + p.x_after, size = p.pixels * p.n;
    p.upper = element == 1 ? (void *)bytes(w, count) : (void *)floats(w, count, -9, 9);
    p.lower = element == 1 ? (void *)bytes(w, count) : (void *)floats(w, count, -9, 9);
    ml_blend_tap *taps = room(w, p.pixels * (int64_t)sizeof *taps);
    for (int64_t i = 0; i < p.pixels; i++) {
        taps[i].first = (int32_t)draw(w, 0, COLUMNS - 1);
        taps[i].second = (int32_t)draw(w, 0, COLUMNS - 1);
        if (fixed) taps[i].part.fixed = (int32_t)draw(w, 0, 1024);
        else taps[i].part.real = draw_float(w, 0, 1);
    }
    p.taps = taps;
    if (fixed) p.down.fixed = (int32_t)draw(w, 0, 1024);
    else p.down.real = draw_float(w, 0, 1);
    p.columns = COLUMNS;
    if (draw(w, 0, 1)) p.room = room(w, 2 * COLUMNS * p.n * (int64_t)sizeof(float));
    void *y = p.y = room(w, element * (size + p.y_after));
    made_by(&p);
    void *expected = p.y = room(w, element * size);
    expected_by(&p);
    expect_bytes(w, y, expected, element * size);
}

void walk_blend_f32(walk *w) {
    for (int i = 0; i < 1500; i++)
        blend_once(w, w->simd->blend_f32, w->scalar->blend_f32, 4, false);
}
void walk_blend_u8(walk *w) {
    for (int i = 0; i < 1500; i++) blend_once(w, w->simd->blend_u8, w->scalar->blend_u8, 1, false);
}
void walk_blend_s8(walk *w) {
    for (int i = 0; i < 1500; i++) blend_once(w, w->simd->blend_s8, w->scalar->blend_s8, 1, true);
}

/* Matrices ------------------------------------------------------------------------------------ */

void walk_transpose_x4(walk *w) {
    for (int i = 0; i < 1500; i++) {
        begin_case(w);
        const bool narrow = draw(w, 0, 1);
        int64_t rows = draw(w, 1, narrow ? 5 : 40), columns = draw(w, 1, 40);
        if (i % 32 == 0) rows = 512;
        if (draw(w, 0, 1)) {
            const int64_t other = rows;
            rows = columns;
            columns = other;
        }
        const int64_t x_gap = draw(w, 0, 3) ? 0 : 4 * draw(w, 1, 3);
        const int64_t y_gap = draw(w, 0, 3) ? 0 : 4 * draw(w, 1, 3);
        ml_transpose_args p = {.rows = rows,
                               .columns = columns,
                               .x_step = 4 * columns + x_gap,
                               .y_step = 4 * rows + y_gap};
        const int64_t size = (columns - 1) * p.y_step + 4 * rows;
        p.x = bytes(w, (rows - 1) * p.x_step + 4 * columns);
        p.y = room(w, size);
        uint8_t *expected = copied(w, p.y, size);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < columns; c++)
                memcpy(expected + c * p.y_step + 4 * r, p.x + r * p.x_step + 4 * c, 4);
        w->simd->transpose_x4(&p);
        expect_bytes(w, p.y, expected, size);
    }
}
