/* fixed_point.h -- requantization: int32 accumulators times a real multiplier, in integers.
 *
 * A real multiplier m is carried as (mantissa, shift): m ~ mantissa * 2^(shift - 31), 2^30 <=
 * mantissa < 2^31. Each rule gives the same bits as the TFLite function that it names
 * (gemmlowp/fixedpoint.h and tensorflow/lite/kernels/internal/common.h), for every input for which
 * that function is defined. If it would overflow an int, ours wraps. */
#ifndef ML_FIXED_POINT_H
#define ML_FIXED_POINT_H

#include <stdint.h>

/* QuantizeMultiplier: 0 below 2^-32. Beyond 2^30, where TFLite's shift is undefined, it saturates;
 * NaN becomes 0. */
void ml_quantize_multiplier(double real, int32_t *mantissa, int32_t *shift);

/* SaturatingRoundingDoublingHighMul: round(a * b / 2^31), ties upwards; a and b must not both be
 * -2^31. TFLite nudges by sign and then divides with truncation, which gives the same as this
 * floor: both round -k - 1/2 to -k. */
static inline int32_t ml_doubling_high_mul(int32_t a, int32_t b) {
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/* RoundingDivideByPOT: round(x / 2^exponent), ties away from zero; 0 <= exponent <= 31. */
static inline int32_t ml_rounding_shift_right(int32_t x, int32_t exponent) {
    int32_t mask = (int32_t)(((int64_t)1 << exponent) - 1);
    int32_t threshold = (mask >> 1) + (x < 0);
    return (x >> exponent) + ((x & mask) > threshold);
}

/* MultiplyByQuantizedMultiplier with double rounding: x * 2^left (wrapping), then the two rules
 * above. */
static inline int32_t ml_multiply_quantized(int32_t x, int32_t mantissa, int32_t shift) {
    int32_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    return ml_rounding_shift_right(ml_doubling_high_mul((int32_t)((uint32_t)x << left), mantissa),
                                   right);
}

/* MultiplyByQuantizedMultiplier for int64 accumulators (s16 x s8): the mantissa is rounded to 16
 * bits, one rounding, ties upwards. |x| < 2^47 and -31 < shift < 15; of more, the result wraps. */
static inline int32_t ml_multiply_quantized_s64(int64_t x, int32_t mantissa, int32_t shift) {
    int32_t reduced = mantissa < 0x7FFF0000 ? (mantissa + (1 << 15)) >> 16 : 0x7FFF;
    int32_t total = 15 - shift;
    const uint64_t product = (uint64_t)x * (uint64_t)reduced;
    if (total <= 0) return (int32_t)(product << -total);
    return (int32_t)((int64_t)(product + ((uint64_t)1 << (total - 1))) >> total);
}

/* SaturatingRoundingMultiplyByPOT: x * 2^exponent, saturating; 0 < exponent < 31. */
static inline int32_t ml_saturating_shift_left(int32_t x, int32_t exponent) {
    int32_t limit = (int32_t)((1u << (31 - exponent)) - 1);
    return x > limit ? INT32_MAX : x < -limit ? INT32_MIN : (int32_t)((uint32_t)x << exponent);
}

/* one_over_one_plus_x_for_x_in_0_1: 1 / (1 + x) in Q0.31 for x in Q0.31, by three Newton steps in
 * Q2.29. */
int32_t ml_one_over_one_plus(int32_t x);
/* GetInvSqrtQuantizedMultiplierExp: 1 / sqrt(x) ~ mantissa * 2^(shift - 31) for x >= 0 (0 counts as
 * 1), by five Newton steps. */
void ml_inverse_sqrt(int32_t x, int32_t *mantissa, int32_t *shift);

static inline int32_t ml_clamp_s32(int32_t x, int32_t low, int32_t high) {
    return x < low ? low : x > high ? high : x;
}

#endif
