/* float_math.h -- elementary functions that GCC vectorises on any target, without libm. */
#ifndef ML_FLOAT_MATH_H
#define ML_FLOAT_MATH_H

#include <stdint.h>
#include <string.h>

static inline float ml_float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t ml_bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The larger one; the first if they are equal or one is NaN. */
static inline float ml_max_f32(float a, float b) { return a < b ? b : a; }
static inline float ml_min_f32(float a, float b) { return b < a ? b : a; }
/* x within [low, high]; NaN stays NaN. */
static inline float ml_clamp_f32(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* exp(x) within 2 ULP, subnormal results included; 0 below -104, infinity above 89, NaN for NaN. x
 * = n ln 2 + r with n an integer and |r| <= ln 2 / 2 (ln 2 in two parts, so that r is exact to the
 * last bit), a polynomial for exp(r), and 2^n in two factors, so that subnormals are rounded
 * once. */
static inline float ml_exp_f32(float x) {
    const float round_magic =
        12582912.0f; /* 1.5 * 2^23: adding it leaves the nearest integer in the low bits */
    x = x < -104.0f ? -104.0f : x;
    x = x > 89.0f ? 89.0f : x;
    float shifted = x * 1.44269504f + round_magic;
    float n = shifted - round_magic;
    float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.98756915e-4f;
    p = p * r + 1.39819995e-3f;
    p = p * r + 8.33345188e-3f;
    p = p * r + 4.16657962e-2f;
    p = p * r + 1.66666657e-1f;
    p = p * r + 5.00000000e-1f;
    p = p * (r * r) + r + 1.0f;
    int32_t power = (int32_t)(ml_bits_of_float(shifted) - ml_bits_of_float(round_magic));
    int32_t half = power >> 1;
    return p * ml_float_of_bits((uint32_t)(half + 127) << 23) *
           ml_float_of_bits((uint32_t)(power - half + 127) << 23);
}

/* 1 / (1 + exp(-x)) within 4 ULP; exp of a negative number, so that nothing overflows. */
static inline float ml_logistic_f32(float x) {
    float e = ml_exp_f32(x > 0.0f ? -x : x);
    return (x > 0.0f ? 1.0f : e) / (1.0f + e);
}

/* log(x) within 2 ULP, subnormal numbers included: the exponent times ln 2 (in two parts) and a
 * polynomial for log(1 + f), sqrt(1/2) <= 1 + f < sqrt(2). -infinity for 0, NaN for negative
 * numbers. */
static inline float ml_log_f32(float x) {
    const float scaled = x < 1.17549435e-38f ? x * 8388608.0f : x;
    const uint32_t bits = ml_bits_of_float(scaled) + (0x3F800000u - 0x3F3504F3u);
    const float e = (float)((int32_t)(bits >> 23) - 127) - (x < 1.17549435e-38f ? 23.0f : 0.0f);
    const float f = ml_float_of_bits((bits & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    const float square = f * f;
    float y = f * square * p - 2.12194440e-4f * e - 0.5f * square;
    y = (f + y) + 0.693359375f * e;
    y = x < __builtin_inff() ? y : x; /* infinity, NaN */
    y = x == 0.0f ? -__builtin_inff() : y;
    return x < 0.0f ? __builtin_nanf("") : y;
}

/* tanh(x) within 3 ULP, NaN for NaN: 1 - 2 / (exp(2 |x|) + 1), near 0 an odd polynomial. */
static inline float ml_tanh_f32(float x) {
    const float size = __builtin_fabsf(x), square = x * x;
    float p = -5.70498872745e-3f;
    p = p * square + 2.06390887954e-2f;
    p = p * square - 5.37397155531e-2f;
    p = p * square + 1.33314422036e-1f;
    p = p * square - 3.33332819422e-1f;
    const float near = x + x * square * p, far = 1.0f - 2.0f / (ml_exp_f32(size + size) + 1.0f);
    return size < 0.625f ? near : __builtin_copysignf(far, x);
}

/* binary16 to binary32, exact; a NaN becomes quiet. Every aarch64 has instructions for it;
 * elsewhere a product adjusts the exponent, which is right for subnormals too. */
static inline float ml_float_of_half(uint16_t half) {
#ifdef __aarch64__
    __fp16 value;
    memcpy(&value, &half, sizeof value);
    return value;
#else
    uint32_t magnitude = (uint32_t)(half & 0x7FFF) << 13, sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t special = magnitude > 0x0F800000u    ? 0x7FC00000u
                       : magnitude == 0x0F800000u ? 0x7F800000u
                                                  : 0;
    return ml_float_of_bits(ml_bits_of_float(ml_float_of_bits(magnitude) * 0x1p112f) | special |
                            sign);
#endif
}

/* binary32 to binary16, to nearest, ties to even; infinity from 65520 on; a NaN becomes 0x7E00 with
 * its sign. */
static inline uint16_t ml_half_of_float(float value) {
    uint32_t bits = ml_bits_of_float(value), magnitude = bits & 0x7FFFFFFFu,
             sign = bits >> 16 & 0x8000;
    uint32_t normal = (magnitude - 0x38000000u + 0xFFF + (magnitude >> 13 & 1)) >> 13;
    /* Adding 0.5 leaves multiples of 2^-24, the step of half's subnormals, in the low bits. */
    uint32_t subnormal = ml_bits_of_float(ml_float_of_bits(magnitude) + 0.5f) - 0x3F000000u;
    uint32_t half = magnitude < 0x38800000u    ? subnormal
                    : magnitude >= 0x477FF000u ? 0x7C00
                                               : normal;
    return (uint16_t)(sign | (magnitude > 0x7F800000u ? 0x7E00 : half));
}

/* bfloat16, the upper half of a binary32, to binary32, exact. */
static inline float ml_float_of_bfloat(uint16_t value) {
    return ml_float_of_bits((uint32_t)value << 16);
}

/* binary32 to bfloat16, to nearest, ties to even; a NaN becomes 0x7FC0 with its sign. */
static inline uint16_t ml_bfloat_of_float(float value) {
    uint32_t bits = ml_bits_of_float(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(0x7FC0 | (bits >> 16 & 0x8000));
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

#endif
