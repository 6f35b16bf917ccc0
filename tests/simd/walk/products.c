/* products.c -- walks of packing and matrix products. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "walk.h"

enum { MOST = 4096 };

/* The layout is the level's own, as csrc/api/simd.h states it. */
void walk_pack_f32(walk *w) {
    for (int i = 0; i < 400; i++) {
        begin_case(w);
        const int64_t n = draw(w, 1, 40), k = draw(w, 1, 40), panel = w->simd->matmul_f32_panel;
        const int64_t size = ml_packed_f32(w->simd, n, k);
        const float *x = floats(w, n * k, -9, 9);
        float *packed = room(w, 4 * size), *expected = room(w, 4 * size);
        w->simd->pack_f32(x, n, k, packed);
        for (int64_t at = 0; at < size; at++) {
            const int64_t output = at / (panel * k) * panel + at % panel;
            expected[at] = output < n ? x[output * k + at / panel % k] : 0;
        }
        expect_bytes(w, packed, expected, 4 * size);
    }
}

static void multiply_once(walk *w, bool packs, int64_t rows, int64_t n, int64_t pieces, int64_t k) {
    double exact[MOST], bounds[MOST];
    begin_case(w);
    const int64_t inputs = pieces * k;
    ml_matmul_f32_args p = {.rows = rows, .pieces = pieces, .k = k, .n = n};
    p.piece_stride = k + draw(w, 0, 3);
    p.a_stride = (pieces - 1) * p.piece_stride + k + draw(w, 0, 3);
    p.y_stride = n + draw(w, 0, 3);
    p.a = floats(w, (rows - 1) * p.a_stride + (pieces - 1) * p.piece_stride + k, -1, 1);
    p.bias = draw(w, 0, 1) ? floats(w, n, -1, 1) : NULL;
    p.low = draw(w, 0, 1) ? 0 : -INFINITY;
    p.high = draw(w, 0, 1) ? 2 : INFINITY;
    const float *x = floats(w, n * inputs, -1, 1);
    float *y = p.y = room(w, 4 * ((rows - 1) * p.y_stride + n));
    if (packs) {
        float *packed = room(w, 4 * ml_packed_f32(w->simd, n, inputs));
        w->simd->pack_f32(x, n, inputs, packed);
        p.packed = packed;
        w->simd->matmul_f32(&p);
    } else {
        p.packed = x;
        w->simd->few_f32(&p);
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < n; i++) {
            double sum = p.bias ? (double)p.bias[i] : 0, sizes = fabs(sum);
            for (int64_t j = 0; j < inputs; j++) {
                const float a = p.a[r * p.a_stride + j / k * p.piece_stride + j % k];
                const double product = (double)a * x[i * inputs + j];
                sum += product;
                sizes += fabs(product);
            }
            exact[i] = fmin(fmax(sum, p.low), p.high);
            bounds[i] = 8 * 0x1p-23 * sizes;
        }
        expect_near(w, y + r * p.y_stride, exact, bounds, n);
    }
}

void walk_matmul_f32(walk *w) {
    for (int64_t rows = 1; rows < 20; rows++)
        for (int64_t n = 1; n < 40; n++)
            multiply_once(w, true, rows, n, draw(w, 1, 3), draw(w, 1, 9));
    for (int i = 0; i < 60; i++)
        multiply_once(w, true, draw(w, 1, 15), draw(w, 1, 150), draw(w, 1, 3), draw(w, 40, 140));
    for (int64_t n = 1; n < 40; n++) { /* NaN passes on */
        begin_case(w);
        float *x = floats(w, n, 1, 1), *nan = floats(w, n, NAN, NAN), a = NAN;
        float *packed = room(w, 4 * ml_packed_f32(w->simd, n, 1)), *y = room(w, 4 * n);
        w->simd->pack_f32(x, n, 1, packed);
        const ml_matmul_f32_args p = {&a, 1, 1, 1, 1, 1, n, packed, NULL, y, n, -1, 1, 0, 0};
        w->simd->matmul_f32(&p);
        expect_equal(w, y, nan, n);
    }
}

/* Pieces shorter than a vector, longer, and of whole vectors; and sums in several goes. */
void walk_few_f32(walk *w) {
    for (int64_t n = 1; n <= ML_LEAST_OUTPUTS; n++) {
        for (int64_t rows = 1; rows < 20; rows++)
            for (int64_t k = 1; k < 20; k++) multiply_once(w, false, rows, n, draw(w, 1, 12), k);
        for (int i = 0; i < 40; i++)
            multiply_once(w, false, draw(w, 1, 15), n, draw(w, 1, 9), draw(w, 1, 30) * 16);
        multiply_once(w, false, 9, n, 5, 900);
        begin_case(w); /* NaN passes on */
        const float *a = floats(w, 17, NAN, NAN), *x = floats(w, 17 * n, 1, 1);
        float *y = room(w, 4 * n), *nan = floats(w, n, NAN, NAN);
        const ml_matmul_f32_args p = {a, 1, 17, 1, 17, 17, n, x, NULL, y, n, -1, 1, 0, 0};
        w->simd->few_f32(&p);
        expect_equal(w, y, nan, n);
    }
}

/* A panel in blocks of weights of few bits; the real ones, (outputs, k), are written to `real`. */
static ml_blocks_f32_args block_panel(walk *w, double *real) {
    ml_blocks_f32_args p = {.bits = draw(w, 0, 1) ? 4 : 8};
    const int64_t blocks = draw(w, 1, 4), outputs = ML_BLOCK_PANEL;
    p.block = draw(w, 1, 9) * (8 / p.bits);
    p.k = blocks * p.block;
    const int64_t steps = outputs * p.block * p.bits / 8, all = 4 * outputs + steps;
    uint8_t *panel = room(w, blocks * all);
    for (int64_t b = 0; b < blocks; b++) {
        const float *scales = floats(w, outputs, 0.1f, 1);
        const uint8_t *weights = bytes(w, steps);
        memcpy(panel + b * all, scales, (size_t)(4 * outputs));
        memcpy(panel + b * all + 4 * outputs, weights, (size_t)steps);
        for (int64_t i = 0; i < outputs; i++)
            for (int64_t j = 0; j < p.block; j++) {
                const int32_t byte = (int8_t)weights[j * p.bits / 8 * outputs + i];
                const int32_t half = j % 2 ? byte >> 4 : (int8_t)(byte * 16) >> 4;
                real[i * p.k + b * p.block + j] = (double)scales[i] * (p.bits == 8 ? byte : half);
            }
    }
    p.panel = panel;
    return p;
}

void walk_dot_blocks_f32(walk *w) {
    double real[MOST], exact[ML_BLOCK_PANEL], bounds[ML_BLOCK_PANEL];
    for (int c = 0; c < 200; c++) {
        begin_case(w);
        ml_blocks_f32_args p = block_panel(w, real);
        p.x = floats(w, p.k, -1, 1);
        p.y = room(w, 4 * ML_BLOCK_PANEL);
        w->simd->dot_blocks_f32(&p);
        for (int64_t i = 0; i < ML_BLOCK_PANEL; i++) {
            exact[i] = bounds[i] = 0;
            for (int64_t j = 0; j < p.k; j++) {
                exact[i] += real[i * p.k + j] * (double)p.x[j];
                bounds[i] += 8 * 0x1p-23 * fabs(real[i * p.k + j] * (double)p.x[j]);
            }
        }
        expect_near(w, p.y, exact, bounds, ML_BLOCK_PANEL);
    }
}

void walk_unpack_blocks_f32(walk *w) {
    double real[MOST];
    for (int c = 0; c < 200; c++) {
        begin_case(w);
        ml_blocks_f32_args p = block_panel(w, real);
        const int64_t panel = w->simd->matmul_f32_panel, size = ML_BLOCK_PANEL * p.k;
        float *expected = room(w, 4 * size);
        p.y = room(w, 4 * size);
        w->simd->unpack_blocks_f32(&p);
        for (int64_t at = 0; at < size; at++) {
            const int64_t output = at / (panel * p.k) * panel + at % panel;
            expected[at] = (float)real[output * p.k + at / panel % p.k];
        }
        expect_bytes(w, p.y, expected, 4 * size);
    }
}

/* Bytes --------------------------------------------------------------------------------------- */

static ml_pack_s8_args weights(walk *w, int64_t n, int64_t pieces, int64_t k) {
    static const int32_t types[] = {ML_S8, ML_U8, ML_S4, ML_S2};
    ml_pack_s8_args p = {.w = bytes(w, n * pieces * k), .n = n, .pieces = pieces, .k = k};
    p.type = types[draw(w, 0, 3)];
    p.output_step = pieces * k;
    p.period = n + 1;
    p.input_step = 1;
    p.apart = (int32_t)draw(w, 0, 1);
    return p;
}

/* Packed weights as scalar reads them: at levels with matmul_s8_pairs, pairs of groups lie
 * together, unless they are apart. */
static const int8_t *as_scalar(walk *w, const int8_t *packed, int64_t n, int64_t pieces, int64_t k,
                               bool is_apart) {
    const int64_t groups = (k + 3) / 4, size = ml_packed_s8(n, pieces, k);
    if (is_apart || !w->simd->matmul_s8_pairs) return packed;
    int8_t *apart = room(w, size);
    memcpy(apart, packed, (size_t)size);
    for (int64_t panel = 0; panel < n; panel += ML_PANEL_S8) {
        const int64_t width = ml_width_s8(n, panel);
        for (int64_t piece = 0; piece < pieces; piece++) {
            const int64_t first = (panel * pieces + piece * width) * groups * 4;
            for (int64_t group = 0; group < groups / 2 * 2; group++)
                for (int64_t i = 0; i < width; i++)
                    memcpy(apart + first + (group * width + i) * 4,
                           packed + first + (group / 2 * width + i) * 8 + group % 2 * 4, 4);
        }
    }
    return apart;
}

void walk_pack_s8(walk *w) {
    for (int i = 0; i < 400; i++) {
        begin_case(w);
        const int64_t n = draw(w, 1, 150), pieces = draw(w, 1, 3), k = draw(w, 1, 40);
        const int64_t size = ml_packed_s8(n, pieces, k);
        ml_pack_s8_args p = weights(w, n, pieces, k);
        int8_t *packed = p.packed = room(w, size);
        int32_t *sums = p.sums = room(w, 4 * n);
        w->simd->pack_s8(&p);
        int8_t *expected = p.packed = room(w, size);
        int32_t *expected_sums = p.sums = room(w, 4 * n);
        w->scalar->pack_s8(&p);
        expect_bytes(w, as_scalar(w, packed, n, pieces, k, p.apart), expected, size);
        expect_bytes(w, sums, expected_sums, 4 * n);
    }
}

/* Fills bytes with the extreme values of s8 and u8. */
static void make_extreme(walk *w, uint8_t *bytes, int64_t n) {
    static const uint8_t extremes[] = {0, 127, 128, 255};
    for (int64_t i = 0; i < n; i++) bytes[i] = extremes[draw(w, 0, 3)];
}

/* Changes weights at random; returns whether no packed weight is -128. */
static bool make_narrow(walk *w, const ml_pack_s8_args *p) {
    uint8_t *bytes = (uint8_t *)(uintptr_t)p->w;
    const uint8_t lowest = p->type == ML_U8 ? 0 : 128;
    const int64_t count = p->n * p->pieces * p->k;
    if (draw(w, 0, 2) == 0) make_extreme(w, bytes, count);
    if (draw(w, 0, 1)) return p->type == ML_S4 || p->type == ML_S2;
    for (int64_t i = 0; i < count; i++)
        if (bytes[i] == lowest) bytes[i]++;
    return true;
}

/* A product with packed weights; its rows and what is added to it are the caller's. */
static ml_matmul_s8_args product(walk *w, int64_t rows, int64_t n, int64_t pieces, int64_t k) {
    ml_pack_s8_args of_weights = weights(w, n, pieces, k);
    const bool narrow = make_narrow(w, &of_weights);
    of_weights.packed = room(w, ml_packed_s8(n, pieces, k));
    of_weights.sums = room(w, 4 * n);
    w->simd->pack_s8(&of_weights);
    ml_matmul_s8_args p = {.rows = rows, .pieces = pieces, .k = k, .n = n, .narrow = narrow};
    p.apart = of_weights.apart;
    p.flip = draw(w, 0, 1) ? 128 : 0;
    p.packed = of_weights.packed;
    if (draw(w, 0, 1)) p.sums = of_weights.sums;
    p.piece_stride = k + draw(w, 0, 3);
    p.a_stride = (pieces - 1) * p.piece_stride + k + draw(w, 0, 3);
    return p;
}

/* The bytes that all rows of a product take. */
static int64_t bytes_of_rows(const ml_matmul_s8_args *p) {
    return (p->rows - 1) * p->a_stride + (p->pieces - 1) * p->piece_stride + p->k;
}

/* Bytes of rows: any, or extreme ones. */
static const uint8_t *some_rows(walk *w, int64_t n) {
    uint8_t *a = bytes(w, n);
    if (draw(w, 0, 2) == 0) make_extreme(w, a, n);
    return a;
}

static void matmul_s8_once(walk *w, int64_t rows, int64_t n, int64_t pieces, int64_t k) {
    begin_case(w);
    ml_matmul_s8_args p = product(w, rows, n, pieces, k);
    p.y_stride = n + draw(w, 0, 3);
    p.a = some_rows(w, bytes_of_rows(&p));
    p.bias = draw(w, 0, 1) ? odd_ints(w, n, -99999, 99999) : NULL;
    if (draw(w, 0, 1)) {
        p.factors = odd_ints(w, rows, -99999, 99999);
        p.columns = odd_ints(w, n, -99999, 99999);
    }
    const int64_t size = 4 * ((rows - 1) * p.y_stride + n);
    int32_t *y = p.y = room(w, size);
    w->simd->matmul_s8(&p);
    int32_t *expected = p.y = room(w, size);
    p.packed = as_scalar(w, p.packed, n, pieces, k, p.apart);
    w->scalar->matmul_s8(&p);
    expect_bytes(w, y, expected, size);
}

void walk_matmul_s8(walk *w) {
    for (int64_t rows = 1; rows < 20; rows++)
        for (int64_t n = 1; n < 70; n += draw(w, 1, 3))
            matmul_s8_once(w, rows, n, draw(w, 1, 3), draw(w, 1, 21));
    for (int i = 0; i < 60; i++)
        matmul_s8_once(w, draw(w, 1, 15), draw(w, 60, 200), draw(w, 1, 3), draw(w, 1, 300));
    for (int i = 0; i < 10; i++) matmul_s8_once(w, draw(w, 1, 7), 16, 1, draw(w, 1000, 5000));
    for (int i = 0; i < 6; i++) /* more of each than is worked on at a time */
        matmul_s8_once(w, draw(w, 17, 40), draw(w, 65, 100), draw(w, 1, 3), draw(w, 400, 700));
}

/* The layout of nibbles is the same at all levels. */
void walk_matmul_s4(walk *w) {
    for (int i = 0; i < 400; i++) {
        begin_case(w);
        const int64_t rows = draw(w, 1, 3), n = draw(w, 1, 90),
                      k = 8 * draw(w, 1, i % 8 ? 20 : 200);
        ml_matmul_s8_args p = {.rows = rows, .pieces = 1, .k = k, .n = n};
        p.a_stride = k + draw(w, 0, 3);
        p.y_stride = n + draw(w, 0, 3);
        p.flip = draw(w, 0, 1) ? 128 : 0;
        p.a = bytes(w, (rows - 1) * p.a_stride + k);
        const int64_t panels = (n + ML_PANEL_S4 - 1) / ML_PANEL_S4;
        uint8_t *packed = bytes(w, panels * ML_PANEL_S4 / 2 * k);
        int32_t *sums = room(w, 4 * n);
        for (int64_t o = 0; o < n; o++) {
            sums[o] = 0;
            for (int64_t j = 0; j < k; j++) {
                const int64_t place = (j / 8 * ML_PANEL_S4 + o % ML_PANEL_S4) * 4 + j % 4;
                const uint8_t two = packed[o / ML_PANEL_S4 * ML_PANEL_S4 / 2 * k + place];
                sums[o] += (j % 8 < 4 ? two & 15 : two >> 4) - 8;
            }
        }
        p.packed = (const int8_t *)packed;
        p.sums = sums;
        p.bias = draw(w, 0, 1) ? odd_ints(w, n, -9999, 9999) : NULL;
        p.factors = draw(w, 0, 1) ? ints(w, rows, -255, 255) : NULL;
        p.columns = sums;
        const int64_t all = 4 * ((rows - 1) * p.y_stride + n);
        int32_t *y = p.y = room(w, all), *expected = room(w, all);
        w->simd->matmul_s4(&p);
        p.y = expected;
        w->scalar->matmul_s4(&p);
        expect_bytes(w, y, expected, all);
    }
}

/* Sums ---------------------------------------------------------------------------------------- */

/* Draws the range of a result's bytes. */
static void draw_range(walk *w, bool with_sign, ml_requantize_args *p) {
    p->zero = (int32_t)(with_sign ? draw(w, -128, 127) : draw(w, 0, 255));
    p->low = (int32_t)(with_sign ? draw(w, -128, 0) : draw(w, 0, 100));
    p->high = (int32_t)(with_sign ? draw(w, 0, 127) : draw(w, 100, 255));
    if (draw(w, 0, 2) == 0 && p->zero <= p->high) p->low = p->zero; /* as after a RELU */
}

static void requantize_once(walk *w, int64_t rows, int64_t n, int32_t limit) {
    begin_case(w);
    const bool any = limit == 0, with_sign = draw(w, 0, 1);
    ml_requantize_args p = {.rows = rows, .n = n, .limit = limit};
    p.sums_stride = n + draw(w, 0, 3);
    p.y_stride = n + draw(w, 0, 3);
    const int64_t count = (rows - 1) * p.sums_stride + n;
    p.bias = draw(w, 0, 1) ? ints(w, n, any ? INT32_MIN : -limit / 2, any ? INT32_MAX : limit / 2)
                           : NULL;
    p.sums =
        any ? odd_ints(w, count, -99999, 99999) : ints(w, count, -limit / 2 + 1, limit / 2 - 1);
    p.mantissas = draw(w, 0, 1) ? ints(w, n, 1 << 30, INT32_MAX) : odd_ints(w, n, 0, INT32_MAX);
    for (int64_t i = 0; i < n; i++)
        if (p.mantissas[i] < 0) ((int32_t *)(uintptr_t)p.mantissas)[i] = INT32_MAX;
    p.shifts = draw(w, 0, 1) ? ints(w, n, -31, 31) : ints(w, n, -20, 0);
    draw_range(w, with_sign, &p);
    const int64_t size = (rows - 1) * p.y_stride + n;
    int8_t *y = p.y = room(w, size);
    w->simd->requantize(&p);
    int8_t *expected = p.y = room(w, size);
    w->scalar->requantize(&p);
    expect_bytes(w, y, expected, size);
}

void walk_requantize(walk *w) {
    for (int64_t n = 1; n < 40; n++)
        for (int64_t rows = 1; rows < 12; rows++)
            for (int i = 0; i < 6; i++)
                requantize_once(w, rows, n, i % 2 ? 0 : 2 << draw(w, 1, 29));
    for (int i = 0; i < 10; i++) requantize_once(w, 20, 500, 0);
    for (int64_t n = 1; n < 9; n++) /* rows that lie side by side */
        for (int i = 0; i < 60; i++) requantize_once(w, draw(w, 15, 40), n, ML_LIMIT);
}

static double *some_reals(walk *w, int64_t n) {
    static const double middles[] = {0.5, 0.49999999999999994}; /* between two steps, nearly */
    double *reals = room(w, 8 * n);
    for (int64_t i = 0; i < n; i++)
        reals[i] = draw(w, 0, 1) ? middles[draw(w, 0, 1)]
                                 : (double)draw_float(w, 0, draw(w, 0, 3) ? 0.1f : 1e9f);
    return reals;
}

/* Requantizes sums at the scalar level, by reals if there are any. */
static void requantize_scalar(walk *w, const ml_requantize_args *p) {
    if (!p->reals) {
        w->scalar->requantize(p);
        return;
    }
    ml_requantize_f64_args reals = {p->sums, p->rows,     p->sums_stride, p->n,   p->reals,
                                    p->y,    p->y_stride, p->zero,        p->low, p->high};
    w->scalar->requantize_f64(&reals);
}

/* Draws what floats are made of sums with, apart from scales and weights. */
static void draw_scaling(walk *w, int64_t n, ml_scale_s32_args *p) {
    p->bias = draw(w, 0, 1) ? odd_floats(w, n, -9, 9) : NULL;
    p->low = draw(w, 0, 1) ? 0 : -INFINITY;
    p->high = draw(w, 0, 1) ? 6 : INFINITY;
    p->weights_first = (int32_t)draw(w, 0, 1);
}

/* Draws a product of some lines, `*step` bytes apart, with or without factors; it has no bias. */
static ml_matmul_s8_args product_of_lines(walk *w, int64_t lines, int64_t *step, int64_t rows,
                                          int64_t n, int64_t pieces, int64_t k) {
    begin_case(w);
    ml_matmul_s8_args p = product(w, rows, n, pieces, k);
    const int64_t line = bytes_of_rows(&p);
    *step = line + draw(w, 0, 3);
    p.a = some_rows(w, (lines - 1) * *step + line);
    p.bias = NULL;
    if (draw(w, 0, 1)) {
        p.factors = ints(w, lines * rows, -255, 0);
        p.columns = p.sums && draw(w, 0, 1) ? p.sums : ints(w, n, -9999, 9999);
    }
    return p;
}

/* Compares with the scalar variants of its two halves. */
static void product_s8_once(walk *w, int64_t rows, int64_t n, int64_t pieces, int64_t k) {
    const int64_t lines = draw(w, 1, 3), all = lines * rows;
    int64_t step;
    ml_matmul_s8_args p = product_of_lines(w, lines, &step, rows, n, pieces, k);
    const uint8_t *a = p.a;
    ml_requantize_args to = {.rows = rows, .n = n, .limit = draw(w, 0, 1) ? ML_LIMIT : 0};
    if (draw(w, 0, 1)) p.bias = to.limit ? ints(w, n, -99999, 99999) : odd_ints(w, n, -9, 9);
    to.mantissas = ints(w, n, 1 << 30, INT32_MAX);
    int32_t *shifts = draw(w, 0, 1) ? ints(w, n, -31, 3) : ints(w, n, -20, 0);
    if (draw(w, 0, 1)) shifts[draw(w, 0, n - 1)] = 3; /* one output's sums are not small */
    to.shifts = shifts;
    if (draw(w, 0, 3) == 0) to.reals = some_reals(w, n);
    draw_range(w, draw(w, 0, 1), &to);
    to.y_stride = n + draw(w, 0, 3);
    const int64_t size = (all - 1) * to.y_stride + n;
    int8_t *y = to.y = room(w, size);
    w->simd->product_s8(w->simd, &p, &to, lines, step);
    int8_t *expected = to.y = room(w, size);
    p.packed = as_scalar(w, p.packed, n, pieces, k, p.apart);
    to.sums_stride = p.y_stride = n;
    for (int64_t i = 0; i < lines; i++, to.y += rows * to.y_stride) {
        to.sums = p.y = room(w, 4 * rows * n);
        p.a = a + i * step;
        w->scalar->matmul_s8(&p);
        requantize_scalar(w, &to);
        if (p.factors) p.factors += rows;
    }
    expect_bytes(w, y, expected, size);
}

/* The same for floats. */
static void product_f32_once(walk *w, int64_t rows, int64_t n, int64_t pieces, int64_t k) {
    const int64_t lines = draw(w, 1, 3), all = lines * rows;
    int64_t step;
    ml_matmul_s8_args p = product_of_lines(w, lines, &step, rows, n, pieces, k);
    const uint8_t *a = p.a;
    if (draw(w, 0, 1)) p.bias = odd_ints(w, n, -99999, 99999);
    ml_scale_s32_args to = {.scales = floats(w, all, 0, 1), .weights = odd_floats(w, n, -1, 1)};
    draw_scaling(w, n, &to);
    to.y_stride = n + draw(w, 0, 3);
    const int64_t size = (all - 1) * to.y_stride + n;
    float *y = to.y = room(w, 4 * size);
    w->simd->product_f32(w->simd, &p, &to, lines, step);
    float *expected = to.y = room(w, 4 * size);
    p.packed = as_scalar(w, p.packed, n, pieces, k, p.apart);
    to.rows = rows;
    to.n = to.sums_stride = p.y_stride = n;
    for (int64_t i = 0; i < lines; i++, to.y += rows * to.y_stride, to.scales += rows) {
        to.sums = p.y = room(w, 4 * rows * n);
        p.a = a + i * step;
        w->scalar->matmul_s8(&p);
        w->scalar->scale_s32(&to);
        if (p.factors) p.factors += rows;
    }
    expect_equal(w, y, expected, size);
}

typedef void product_once(walk *w, int64_t rows, int64_t n, int64_t pieces, int64_t k);

static void walk_products(walk *w, product_once *once) {
    for (int64_t rows = 1; rows < 20; rows++)
        for (int64_t n = 1; n < 70; n += draw(w, 1, 3))
            once(w, rows, n, draw(w, 1, 3), draw(w, 1, 21));
    for (int i = 0; i < 60; i++)
        once(w, draw(w, 1, 40), draw(w, 60, 200), draw(w, 1, 3), draw(w, 1, 200));
    for (int i = 0; i < 6; i++)
        once(w, draw(w, 65, 150), draw(w, 40, 130), draw(w, 1, 2), draw(w, 30, 60));
    static const int64_t outputs[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 24, 65, 257};
    static const int64_t inputs[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 27};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        for (size_t j = 0; j < sizeof inputs / sizeof *inputs; j++)
            for (int times = 0; times < 4; times++)
                once(w, draw(w, 1, 14), outputs[i], draw(w, 1, 3), inputs[j]);
    for (int i = 0; i < 200; i++) /* one in three has a single row */
        once(w, 1, draw(w, 1, 200), draw(w, 1, 3), draw(w, 1, 80));
    for (int i = 0; i < 16; i++) /* as long as a row that is split, and longer */
        once(w, 1, draw(w, 1, 12), 1 + i % 2, draw(w, 8180, 8200) / (1 + i % 2));
    for (int64_t i = 0; i < 16; i++) /* about as long as what is widened at a time, and longer */
        once(w, draw(w, 1, 8), draw(w, 1, 24), 1 + i % 2, draw(w, 4600, 4900) / (1 + i % 2));
}

void walk_product_s8(walk *w) { walk_products(w, product_s8_once); }

void walk_product_f32(walk *w) { walk_products(w, product_f32_once); }

void walk_requantize_f64(walk *w) {
    for (int i = 0; i < 3000; i++) {
        begin_case(w);
        ml_requantize_f64_args p = {.rows = draw(w, 1, 4), .n = draw(w, 1, 40)};
        p.sums_stride = p.n + draw(w, 0, 3);
        p.y_stride = p.n + draw(w, 0, 3);
        p.sums = odd_ints(w, (p.rows - 1) * p.sums_stride + p.n, -2000, 2000);
        p.reals = some_reals(w, p.n);
        const bool with_sign = draw(w, 0, 1);
        p.zero = (int32_t)(with_sign ? draw(w, -128, 127) : draw(w, 0, 255));
        draw_limits(w, with_sign, &p.low, &p.high);
        const int64_t size = (p.rows - 1) * p.y_stride + p.n;
        int8_t *y = p.y = room(w, size);
        w->simd->requantize_f64(&p);
        int8_t *expected = p.y = room(w, size);
        w->scalar->requantize_f64(&p);
        expect_bytes(w, y, expected, size);
    }
}

void walk_scale_s32(walk *w) {
    for (int i = 0; i < 3000; i++) {
        begin_case(w);
        ml_scale_s32_args p = {.rows = draw(w, 1, 4), .n = draw(w, 1, 40)};
        p.sums_stride = p.n + draw(w, 0, 3);
        p.y_stride = p.n + draw(w, 0, 3);
        p.sums = odd_ints(w, (p.rows - 1) * p.sums_stride + p.n, -99999, 99999);
        p.scales = floats(w, p.rows, 0, 1);
        p.weights = odd_floats(w, p.n, -1, 1);
        draw_scaling(w, p.n, &p);
        const int64_t size = 4 * ((p.rows - 1) * p.y_stride + p.n);
        float *y = p.y = room(w, size);
        w->simd->scale_s32(&p);
        float *expected = p.y = room(w, size);
        w->scalar->scale_s32(&p);
        expect_equal(w, y, expected, size / 4);
    }
}
