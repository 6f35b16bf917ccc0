/* fixed_s16.h -- logistic and tanh of 16-bit fixed point, with the bits of gemmlowp's functions of
 * those names. */
#ifndef ML_FIXED_S16_H
#define ML_FIXED_S16_H

#include "math/fixed_point.h"

/* round(a * b / 2^15), ties upwards; a and b must not both be -2^15. */
static inline int32_t ml_multiply_q15(int32_t a, int32_t b) { return (a * b + (1 << 14)) >> 15; }

static inline int32_t ml_shift_left_s16(int32_t x, int32_t exponent) {
    return ml_clamp_s32(x * (1 << exponent), INT16_MIN, INT16_MAX);
}

/* exp(a), Q0.15, for a <= 0 with 1 to 7 integer bits: a Taylor series around -1/8 for the last
 * quarter, and a product for each bit beyond it. */
static inline int32_t ml_exp_negative_s16(int32_t a, int32_t integer_bits) {
    static const int32_t factors[] = {25520, 19875, 12055, 4435, 600, 11, 0};
    const int32_t quarter = 1 << (13 - integer_bits), near = (a & (quarter - 1)) - quarter;
    const int32_t x = ml_shift_left_s16(near, integer_bits) + (1 << 12);
    const int32_t x2 = ml_multiply_q15(x, x), x3 = ml_multiply_q15(x2, x),
                  x4 = ml_multiply_q15(x2, x2);
    const int32_t cubic = ml_multiply_q15(ml_rounding_shift_right(x4, 2) + x3, 10923) + x2;
    int32_t y = 28918 + ml_multiply_q15(28918, x + ml_rounding_shift_right(cubic, 1));
    y = ml_clamp_s32(y, INT16_MIN, INT16_MAX);
    const int32_t rest = near - a;
    for (int32_t bit = 0; bit < integer_bits + 2 && bit < 7; bit++)
        y = rest >> (13 - integer_bits + bit) & 1 ? ml_multiply_q15(y, factors[bit]) : y;
    if (integer_bits > 5) y = a < -(1 << (20 - integer_bits)) ? 0 : y;
    return a == 0 ? INT16_MAX : y;
}

/* 2 / (1 + a) in Q2.13 for a of Q0.15 in [0, 1]: three Newton steps. */
static inline int32_t ml_two_over_one_plus_s16(int32_t a) {
    const int32_t half = (a + 32768) >> 1;
    int32_t x = 23130 + ml_multiply_q15(half, -15420);
    for (int step = 0; step < 3; step++) {
        const int32_t error = (1 << 13) - ml_multiply_q15(half, x);
        x = (int16_t)(x + ml_shift_left_s16(ml_multiply_q15(x, error), 2));
    }
    return x;
}

/* 1 / (1 + exp(-x)) in Q0.15, x in Q3.12. */
static inline int16_t ml_logistic_q3(int32_t x) {
    const int32_t e = ml_exp_negative_s16(x < 0 ? x : -x, 3);
    const int32_t y = ml_shift_left_s16(ml_two_over_one_plus_s16(e), 1);
    return (int16_t)(x == 0 ? 1 << 14 : x > 0 ? y : INT16_MAX - y);
}

/* tanh(x) in Q0.15, x with 0 to 6 integer bits. */
static inline int16_t ml_tanh_q15(int32_t x, int32_t integer_bits) {
    const int32_t e = ml_exp_negative_s16(x < 0 ? x : -x, integer_bits + 1);
    const int32_t y = ml_shift_left_s16(ml_two_over_one_plus_s16(e) - (1 << 13), 2);
    return (int16_t)(x == 0 ? 0 : x < 0 ? -y : y);
}

#endif
