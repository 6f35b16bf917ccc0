/* winograd.c -- walks of the steps of Winograd's convolutions. */
#include <math.h>

#include "walk.h"

enum { MOST = 1024 };

static int16_t *shorts(walk *w, int64_t n, int32_t low, int32_t high) {
    int16_t *x = room(w, 2 * n);
    for (int64_t i = 0; i < n; i++) x[i] = (int16_t)draw(w, low, high);
    return x;
}

/* The height and width of a tile, and of its patch. */
typedef struct tile {
    int32_t h;
    int32_t w;
    int64_t patch_h;
    int64_t patch_w;
} tile;

static tile any_tile(walk *w) {
    static const tile tiles[] = {{2, 2, 4, 4}, {4, 4, 6, 6}, {1, 4, 1, 6}, {4, 1, 6, 1}};
    return tiles[draw(w, 0, 3)];
}

void walk_winograd_weights(walk *w) {
    for (int i = 0; i < 600; i++) {
        begin_case(w);
        const tile t = any_tile(w);
        ml_winograd_weights_args p = {.tile_h = t.h, .tile_w = t.w};
        p.zero = (int32_t)draw(w, -255, 255);
        const int64_t taps = t.h == 1 || t.w == 1 ? 3 : 9;
        p.v_position = ML_PAIRS_S16 + draw(w, 0, 3);
        p.w = (const int8_t *)bytes(w, taps * ML_PAIRS_S16);
        const int64_t all = 2 * ((t.patch_h * t.patch_w - 1) * p.v_position + ML_PAIRS_S16);
        int16_t *v = p.v = room(w, all), *expected = room(w, all);
        w->simd->winograd_weights(&p);
        p.v = expected;
        w->scalar->winograd_weights(&p);
        expect_bytes(w, v, expected, all);
    }
}

void walk_winograd_in(walk *w) {
    for (int i = 0; i < 600; i++) {
        begin_case(w);
        const tile t = any_tile(w);
        ml_winograd_in_args p = {.tile_h = t.h, .tile_w = t.w, .tiles = draw(w, 1, 5)};
        p.channels = draw(w, 1, 70);
        const int64_t line = ((p.tiles - 1) * t.w + t.patch_w) * p.channels;
        p.x_line = line + draw(w, 0, 3);
        p.v_position = p.tiles * p.channels + draw(w, 0, 3);
        p.x = (const int8_t *)bytes(w, (t.patch_h - 1) * p.x_line + line);
        const int64_t all = 2 * ((t.patch_h * t.patch_w - 1) * p.v_position + p.tiles * p.channels);
        int16_t *v = p.v = room(w, all), *expected = room(w, all);
        w->simd->winograd_in(&p);
        p.v = expected;
        w->scalar->winograd_in(&p);
        expect_bytes(w, v, expected, all);
    }
}

void walk_matmul_s16(walk *w) {
    for (int i = 0; i < 600; i++) {
        begin_case(w);
        ml_matmul_s16_args p = {.rows = draw(w, 1, 30), .k = 2 * draw(w, 1, 20)};
        p.n = ML_PANEL_S16 * draw(w, 1, 3);
        p.products = draw(w, 1, 4);
        p.a_step = p.rows * p.k + draw(w, 0, 3);
        p.y_step = p.rows * p.n + draw(w, 0, 3);
        p.a = shorts(w, (p.products - 1) * p.a_step + p.rows * p.k, -32768, 32767);
        p.packed = shorts(w, p.products * p.k * p.n, -32767, 32767);
        const int64_t all = 4 * ((p.products - 1) * p.y_step + p.rows * p.n);
        int32_t *y = p.y = room(w, all), *expected = room(w, all);
        w->simd->matmul_s16(&p);
        p.y = expected;
        w->scalar->matmul_s16(&p);
        expect_bytes(w, y, expected, all);
    }
}

void walk_winograd_out(walk *w) {
    for (int i = 0; i < 600; i++) {
        begin_case(w);
        const tile t = any_tile(w);
        ml_winograd_out_args p = {.tile_h = t.h, .tile_w = t.w, .tiles = draw(w, 1, 5)};
        p.n = ML_PANEL_S16 * draw(w, 1, 3);
        p.m_position = p.tiles * p.n + draw(w, 0, 3);
        p.y_line = p.tiles * t.w * p.n + draw(w, 0, 3);
        p.m = odd_ints(w, (t.patch_h * t.patch_w - 1) * p.m_position + p.tiles * p.n, -999999,
                       999999);
        p.start = odd_ints(w, p.n, -999999, 999999);
        const int64_t all = 4 * ((t.h - 1) * p.y_line + p.tiles * t.w * p.n);
        int32_t *y = p.y = room(w, all), *expected = room(w, all);
        w->simd->winograd_out(&p);
        p.y = expected;
        w->scalar->winograd_out(&p);
        expect_bytes(w, y, expected, all);
    }
}

/* Sums of a transform, whose terms add up to at most `size`, differ by a few roundings of it. */
static void expect_similar(walk *w, const float *made, const float *expected, int64_t n,
                           double size) {
    double exact[MOST], bounds[MOST];
    for (int64_t i = 0; i < n; i++) {
        exact[i] = (double)expected[i];
        bounds[i] = size * 0x1p-21;
    }
    expect_near(w, made, exact, bounds, n);
}

void walk_winograd_in_f32(walk *w) {
    for (int i = 0; i < 600; i++) {
        begin_case(w);
        ml_winograd_in_f32_args p = {.tiles = draw(w, 1, 5), .channels = draw(w, 1, 70)};
        p.x_line = (p.tiles * ML_WINOGRAD_TILE + 2) * p.channels + draw(w, 0, 3);
        p.v_position = p.tiles * p.channels + draw(w, 0, 3);
        p.x = floats(
            w, (ML_WINOGRAD_PATCH - 1) * p.x_line + (p.tiles * ML_WINOGRAD_TILE + 2) * p.channels,
            -1, 1);
        const int64_t row = p.tiles * p.channels, all = 35 * p.v_position + row;
        float *v = p.v = room(w, 4 * all), *expected = room(w, 4 * all);
        w->simd->winograd_in_f32(&p);
        p.v = expected;
        w->scalar->winograd_in_f32(&p);
        for (int64_t at = 0; at < 36; at++) {
            expect_similar(w, v + at * p.v_position, expected + at * p.v_position, row, 27);
            if (at < 35)
                expect_bytes(w, v + at * p.v_position + row, expected + at * p.v_position + row,
                             4 * (p.v_position - row));
        }
    }
}

void walk_winograd_out_f32(walk *w) {
    for (int i = 0; i < 600; i++) {
        begin_case(w);
        ml_winograd_out_f32_args p = {.n = draw(w, 1, 40), .lines = draw(w, 1, ML_WINOGRAD_TILE)};
        p.pixels = draw(w, 1, 20);
        const int64_t tiles = (p.pixels + 3) / 4, row = p.pixels * p.n;
        p.m_position = tiles * p.n + draw(w, 0, 3);
        p.y_line = row + draw(w, 0, 3);
        p.m = floats(w, 35 * p.m_position + tiles * p.n, -1, 1);
        p.bias = draw(w, 0, 1) ? floats(w, p.n, -1, 1) : NULL;
        p.low = draw(w, 0, 1) ? -INFINITY : 0.0f;
        p.high = draw(w, 0, 1) ? INFINITY : 6.0f;
        const int64_t all = (p.lines - 1) * p.y_line + row;
        float *y = p.y = room(w, 4 * all), *expected = room(w, 4 * all);
        w->simd->winograd_out_f32(&p);
        p.y = expected;
        w->scalar->winograd_out_f32(&p);
        for (int64_t line = 0; line < p.lines; line++) {
            expect_similar(w, y + line * p.y_line, expected + line * p.y_line, row, 55);
            if (line < p.lines - 1)
                expect_bytes(w, y + line * p.y_line + row, expected + line * p.y_line + row,
                             4 * (p.y_line - row));
        }
    }
}
