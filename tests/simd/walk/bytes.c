/* bytes.c -- walks of primitives over lines of bytes and words. */
#include <math.h>

#include "math/fixed_point.h"
#include "walk.h"

static int64_t draw_length(walk *w) { return draw(w, 0, 7) ? draw(w, 0, 150) : draw(w, 150, 900); }

/* Draws lines, and makes the table of their bytes by the rule of ml_byte_lines. */
static ml_byte_lines draw_byte_lines(walk *w, uint8_t *table) {
    ml_byte_lines p = {.count = (int32_t)draw(w, 1, 2), .smaller = (int32_t)draw(w, 0, 1)};
    p.shift = (int32_t)draw(w, 4, 8);
    for (int i = 0; i < 2; i++) {
        p.factors[i] = (int16_t)draw(w, INT16_MIN, INT16_MAX);
        p.terms[i] = (int16_t)draw(w, INT16_MIN, INT16_MAX);
    }
    const bool limited = draw(w, 0, 1);
    p.low = (int8_t)(limited ? draw(w, -128, 0) : -128);
    p.high = (int8_t)(limited ? draw(w, 0, 127) : 127);
    p.flip_x = draw(w, 0, 1) ? 0x80 : 0;
    p.flip_y = draw(w, 0, 1) ? 0x80 : 0;
    for (int32_t byte = 0; byte < 256; byte++) {
        int32_t y = 0;
        for (int i = 0; i < p.count; i++) {
            int32_t at = ((int8_t)(byte ^ p.flip_x) * p.factors[i] >> 8) + p.terms[i];
            at = at < INT16_MIN ? INT16_MIN : at > INT16_MAX ? INT16_MAX : at;
            if (i == 0 || (p.smaller ? at < y : at > y)) y = at;
        }
        y >>= p.shift;
        y = y < p.low ? p.low : y > p.high ? p.high : y;
        table[byte] = (uint8_t)y ^ p.flip_y;
    }
    return p;
}

void walk_lookup_u8(walk *w) {
    for (int i = 0; i < 2000; i++) {
        begin_case(w);
        const int64_t n = draw_length(w);
        uint8_t *table = bytes(w, 256), *x = bytes(w, n), *y = room(w, n), *expected = room(w, n);
        ml_byte_lines lines;
        const bool has_lines = draw(w, 0, 1);
        if (has_lines) lines = draw_byte_lines(w, table);
        w->simd->lookup_u8(table, has_lines ? &lines : NULL, x, n, y);
        w->scalar->lookup_u8(table, NULL, x, n, expected);
        expect_bytes(w, y, expected, n);
        w->simd->lookup_u8(table, has_lines ? &lines : NULL, x, n, x);
        expect_bytes(w, x, expected, n);
    }
}

void walk_add_s8(walk *w) {
    for (int i = 0; i < 3000; i++) {
        begin_case(w);
        const bool odd = draw(w, 0, 3) == 0;
        ml_add_s8_args p = {.n = draw_length(w), .is_signed = (int32_t)draw(w, 0, 1)};
        p.a_step = (int32_t)draw(w, 0, 1);
        p.b_step = p.a_step ? (int32_t)draw(w, 0, 1) : 1;
        p.a = bytes(w, p.a_step ? p.n : 1);
        p.b = bytes(w, p.b_step ? p.n : 1);
        const int32_t most = odd ? INT32_MAX : 1 << 20;
        p.a_factor = (int32_t)draw(w, -most, most);
        p.b_factor = (int32_t)draw(w, -most, most);
        p.offset = (int32_t)draw(w, -most, most);
        p.negative = (int32_t)draw(w, -most, most);
        p.shift = (int32_t)(odd ? draw(w, 0, 31) : 20);
        if (i % 4 == 0 && p.n > 0) { /* a sum that is just not negative, whose last bit counts */
            const int32_t flip = p.is_signed ? 128 : 0;
            p.a_factor = p.b_factor = (int32_t)draw(w, 1, 3);
            p.shift = p.offset = 0;
            p.negative = p.a_factor * ((p.a[0] ^ flip) - flip + (p.b[0] ^ flip) - flip);
        }
        draw_limits(w, p.is_signed, &p.low, &p.high);
        uint8_t *y = p.y = room(w, p.n);
        w->simd->add_s8(&p);
        uint8_t *expected = p.y = room(w, p.n);
        w->scalar->add_s8(&p);
        expect_bytes(w, y, expected, p.n);
    }
}

static ml_add_s16_scale draw_scale(walk *w) {
    const bool odd = draw(w, 0, 3) == 0;
    return (ml_add_s16_scale){(int32_t)draw(w, -32768, 32767),
                              (int32_t)draw(w, odd ? 0 : 1 << 30, INT32_MAX),
                              (int32_t)(odd ? draw(w, -31, 31) : draw(w, -16, 0))};
}

void walk_add_s16(walk *w) {
    for (int i = 0; i < 3000; i++) {
        begin_case(w);
        ml_add_s16_args p = {.n = draw(w, 0, 100),
                             .of_a = draw_scale(w),
                             .of_b = draw_scale(w),
                             .of_y = draw_scale(w)};
        p.a_step = (int32_t)draw(w, 0, 1);
        p.b_step = p.a_step ? (int32_t)draw(w, 0, 1) : 1;
        p.a = (const int16_t *)(const void *)bytes(w, p.a_step ? 2 * p.n : 2);
        p.b = (const int16_t *)(const void *)bytes(w, p.b_step ? 2 * p.n : 2);
        p.subtracts = (int32_t)draw(w, 0, 1);
        p.low = (int32_t)draw(w, -32768, 0);
        p.high = (int32_t)draw(w, 0, 32767);
        int16_t *y = p.y = room(w, 2 * p.n);
        w->simd->add_s16(&p);
        int16_t *expected = p.y = room(w, 2 * p.n);
        w->scalar->add_s16(&p);
        expect_bytes(w, y, expected, 2 * p.n);
    }
}

static bool serves(const ml_mul_s8_args *p, float real, float nudge) {
    for (int32_t product = -255 * 255; product <= 255 * 255; product++) {
        const int32_t v = ml_multiply_quantized(product, p->mantissa, p->shift) + p->zero;
        const float zero = (float)p->zero + (product < 0 ? -nudge : nudge);
        const int32_t made = (int32_t)rintf(fmaf((float)product, real, zero));
        if (ml_clamp_s32(made, p->low, p->high) != ml_clamp_s32(v, p->low, p->high)) return false;
    }
    return true;
}

/* A factor that gives the same bytes, where one is found. */
static void find_real(ml_mul_s8_args *p) {
    static const int steps[] = {0, -64, 64};
    if (p->shift >= 0) return;
    const float real = (float)ldexp(p->mantissa, p->shift - 31);
    for (int i = 0; i < 3 && p->real == 0; i++) {
        const float nudge = (float)ldexp(1 + steps[i] * 0x1p-12, p->shift - 1);
        if (!serves(p, real, nudge)) continue;
        p->real = real;
        p->nudge = nudge;
    }
}

void walk_mul_s8(walk *w) {
    int reals = 0;
    for (int i = 0; i < 3000; i++) {
        begin_case(w);
        const bool odd = draw(w, 0, 3) == 0;
        ml_mul_s8_args p = {.n = draw_length(w), .is_signed = (int32_t)draw(w, 0, 1)};
        const int32_t least = p.is_signed ? -128 : 0;
        p.a_step = (int32_t)draw(w, 0, 1);
        p.b_step = p.a_step ? (int32_t)draw(w, 0, 1) : 1;
        p.a = bytes(w, p.a_step ? p.n : 1);
        p.b = bytes(w, p.b_step ? p.n : 1);
        p.a_zero = (int32_t)(odd ? draw(w, -9999999, 9999999) : draw(w, least, least + 255));
        p.b_zero = (int32_t)(odd ? draw(w, -9999999, 9999999) : draw(w, least, least + 255));
        p.zero = (int32_t)draw(w, least, least + 255);
        p.mantissa = (int32_t)draw(w, odd ? 0 : 1 << 30, INT32_MAX);
        p.shift = (int32_t)(odd ? draw(w, -31, 31) : draw(w, -12, 0));
        draw_limits(w, p.is_signed, &p.low, &p.high);
        const bool is_near = p.a_zero >= least && p.a_zero < least + 256 && p.b_zero >= least &&
                             p.b_zero < least + 256;
        if (is_near && reals < 12) find_real(&p);
        reals += p.real > 0;
        uint8_t *y = p.y = room(w, p.n);
        w->simd->mul_s8(&p);
        uint8_t *expected = p.y = room(w, p.n);
        w->scalar->mul_s8(&p);
        expect_bytes(w, y, expected, p.n);
    }
}

void walk_fold_u8(walk *w) {
    static const uint8_t flips[] = {0, 128, 255, 127};
    for (int i = 0; i < 2000; i++) {
        begin_case(w);
        ml_fold_u8_args p = {.rows = draw(w, 1, 6), .n = draw(w, 1, i % 4 ? 150 : 800)};
        p.stride = p.n + draw(w, 0, 3);
        p.x = bytes(w, (p.rows - 1) * p.stride + p.n);
        p.across = (int32_t)draw(w, 0, 1);
        p.flip = flips[draw(w, 0, 3)];
        const int64_t size = p.across ? p.n : p.rows;
        uint8_t *y = p.y = bytes(w, size), *expected = copied(w, y, size);
        w->simd->fold_u8(&p);
        p.y = expected;
        w->scalar->fold_u8(&p);
        expect_bytes(w, y, expected, size);
    }
}

void walk_softmax_s8(walk *w) {
    for (int i = 0; i < 1000; i++) {
        begin_case(w);
        ml_softmax_s8_args p = {.rows = draw(w, 1, 3), .n = i % 50 ? draw(w, 1, 150) : 9000};
        int32_t *exps = room(w, 256 * 4);
        const double scale = (double)draw_float(w, 0.001f, 0.5f);
        for (int k = 0; k < 256; k++) exps[k] = (int32_t)fmin(exp(-k * scale) * 0x1p31, 0x1p31 - 1);
        p.exps = exps;
        p.x = bytes(w, p.rows * p.n);
        p.is_signed = (int32_t)draw(w, 0, 1);
        uint8_t *y = p.y = room(w, p.rows * p.n);
        w->simd->softmax_s8(&p);
        uint8_t *expected = p.y = room(w, p.rows * p.n);
        w->scalar->softmax_s8(&p);
        expect_bytes(w, y, expected, p.rows * p.n);
        p.y = (uint8_t *)(uintptr_t)p.x;
        w->simd->softmax_s8(&p);
        expect_bytes(w, p.x, expected, p.rows * p.n);
    }
}

/* Quantized at the middles between two steps, beside them, and anywhere. */
void walk_quantize_s8(walk *w) {
    for (int i = 0; i < 3000; i++) {
        begin_case(w);
        ml_quantize_s8_args p = {.n = draw_length(w), .is_signed = (int32_t)draw(w, 0, 1)};
        p.scale = i % 16 ? draw_float(w, 0.001f, 2) : 1e-38f;
        p.zero = (int32_t)(p.is_signed ? draw(w, -128, 127) : draw(w, 0, 255));
        p.x = i % 4 ? floats(w, p.n, -300 * p.scale, 300 * p.scale)
                    : odd_floats(w, p.n, -99 * p.scale, 99 * p.scale);
        for (int64_t k = 0; i % 3 == 0 && k < p.n; k++) {
            if (draw(w, 0, 1)) continue;
            p.x[k] = ((float)draw(w, -140, 140) + 0.5f) * p.scale;
            if (draw(w, 0, 1)) p.x[k] = nextafterf(p.x[k], draw(w, 0, 1) ? 1e9f : -1e9f);
        }
        uint8_t *y = p.y = room(w, p.n);
        w->simd->quantize_s8(&p);
        uint8_t *expected = p.y = room(w, p.n);
        w->scalar->quantize_s8(&p);
        expect_bytes(w, y, expected, p.n);
    }
}

void walk_quantize_s16(walk *w) {
    for (int i = 0; i < 2000; i++) {
        begin_case(w);
        ml_quantize_s16_args p = {.n = draw(w, 0, 100), .zero = (int32_t)draw(w, -32768, 32767)};
        p.scale = draw_float(w, 1e-5f, 2);
        p.x = i % 4 ? floats(w, p.n, -70000 * p.scale, 70000 * p.scale)
                    : odd_floats(w, p.n, -99 * p.scale, 99 * p.scale);
        int16_t *y = p.y = room(w, 2 * p.n);
        w->simd->quantize_s16(&p);
        int16_t *expected = p.y = room(w, 2 * p.n);
        w->scalar->quantize_s16(&p);
        expect_bytes(w, y, expected, 2 * p.n);
    }
}

void walk_zip_s32(walk *w) {
    for (int i = 0; i < 3000; i++) {
        begin_case(w);
        ml_zip_s32_args p = {.n = draw(w, 0, 100), .kind = (int32_t)draw(w, 0, 2)};
        const int64_t a_n = p.kind == ML_ZIP_SCALAR_A ? 1 : p.n;
        const int64_t b_n = p.kind == ML_ZIP_SCALAR_B ? 1 : p.n;
        const bool all = draw(w, 0, 1);
        p.function = (int32_t)draw(w, 0, ML_ZIP_S32_COUNT - 1);
        p.a = (const uint32_t *)odd_ints(w, a_n, INT32_MIN, INT32_MAX);
        p.b = (const uint32_t *)odd_ints(w, b_n, p.function == ML_ZIP_S32_SHIFT_LEFT ? -3 : -99999,
                                         p.function == ML_ZIP_S32_SHIFT_LEFT ? 40 : 99999);
        p.low = all ? INT32_MIN : (int32_t)draw(w, -9999, 9);
        p.high = all ? INT32_MAX : (int32_t)draw(w, 9, 9999);
        uint32_t *y = p.y = room(w, 4 * p.n);
        w->simd->zip_s32(&p);
        uint32_t *expected = p.y = room(w, 4 * p.n);
        w->scalar->zip_s32(&p);
        expect_bytes(w, y, expected, 4 * p.n);
    }
}

void walk_dequantize_s8(walk *w) {
    for (int i = 0; i < 1000; i++) {
        begin_case(w);
        ml_quantize_s8_args p = {.n = draw(w, 0, 100), .is_signed = (int32_t)draw(w, 0, 1)};
        p.scale = draw_float(w, 0.001f, 2);
        p.zero = (int32_t)draw(w, -128, 255);
        p.y = bytes(w, p.n);
        float *x = p.x = room(w, 4 * p.n);
        w->simd->dequantize_s8(&p);
        float *expected = p.x = room(w, 4 * p.n);
        w->scalar->dequantize_s8(&p);
        expect_bytes(w, x, expected, 4 * p.n);
    }
}

void walk_quantize_u8(walk *w) {
    for (int i = 0; i < 2000; i++) {
        begin_case(w);
        ml_quantize_u8_args p = {.n = draw_length(w), .zero = (int32_t)draw(w, -128, 127)};
        p.inverse = i % 2 ? draw_float(w, 1, 90) : 0.5f;
        p.x = i % 4 ? floats(w, p.n, -3, 3) : odd_floats(w, p.n, -3, 3);
        p.low = draw(w, 0, 1) ? -128 : -127;
        if (i % 2 == 0) p.zero = 0;
        for (int64_t k = 0; i % 8 == 0 && k < p.n; k++)
            ((float *)(uintptr_t)p.x)[k] = (float)draw(w, -300, 300);
        uint8_t *y = p.y = room(w, p.n);
        w->simd->quantize_u8(&p);
        uint8_t *expected = p.y = room(w, p.n);
        w->scalar->quantize_u8(&p);
        expect_bytes(w, y, expected, p.n);
    }
}

void walk_sum_rows_s8(walk *w) {
    for (int i = 0; i < 1000; i++) {
        begin_case(w);
        ml_sum_rows_s8_args p = {.rows = draw(w, 1, i % 8 ? 20 : 400),
                                 .n = draw(w, 1, i % 2 ? 150 : 40)};
        p.stride = p.n + draw(w, 0, 3);
        p.x = bytes(w, (p.rows - 1) * p.stride + p.n);
        p.is_signed = (int32_t)draw(w, 0, 1);
        p.along = (int32_t)draw(w, 0, 1);
        const int64_t size = 4 * (p.along ? p.rows : p.n);
        int32_t *sums = p.sums = odd_ints(w, size / 4, -9999, 9999);
        int32_t *expected = copied(w, sums, size);
        w->simd->sum_rows_s8(&p);
        p.sums = expected;
        w->scalar->sum_rows_s8(&p);
        expect_bytes(w, sums, expected, size);
    }
}
