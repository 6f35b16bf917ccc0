/* fixed_point.c -- real multipliers as a mantissa and a shift, reciprocals and inverse square
 * roots. */
#include "math/fixed_point.h"

#include <string.h>

void ml_quantize_multiplier(double real, int32_t *mantissa, int32_t *shift) {
    enum { FRACTION = 52, BIAS = 1022, MOST = 2047 }; /* bits of a double; of a fraction below 1 */
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    *mantissa = 0;
    *shift = 0;
    int32_t exponent = (int32_t)(bits >> FRACTION & MOST) - BIAS;
    const int64_t one = (int64_t)1 << FRACTION, fraction = (int64_t)(bits & (uint64_t)(one - 1));
    if (exponent == MOST - BIAS && fraction != 0) return; /* NaN */
    int64_t rounded = ((fraction | one) + (1 << 21)) >> 22;
    if (rounded == (int64_t)1 << 31) rounded /= 2, exponent++;
    if (exponent > 30) rounded = INT32_MAX, exponent = 30; /* infinity too */
    if (exponent < -31) return; /* 0 too */
    *mantissa = (int32_t)(real < 0 ? -rounded : rounded);
    *shift = exponent;
}

int32_t ml_one_over_one_plus(int32_t x) {
    int32_t half_denominator = (int32_t)(((int64_t)x + INT32_MAX + 1) >> 1);
    int32_t r =
        1515870810 + ml_doubling_high_mul(-1010580540, half_denominator); /* 48/17 - 32/17 d */
    for (int step = 0; step < 3; step++) {
        int32_t error = (1 << 29) - ml_doubling_high_mul(half_denominator, r);
        r += ml_saturating_shift_left(ml_doubling_high_mul(error, r), 2);
    }
    return ml_saturating_shift_left(r, 1);
}

void ml_inverse_sqrt(int32_t x, int32_t *mantissa, int32_t *shift) {
    *mantissa = INT32_MAX;
    *shift = 0;
    if (x <= 1) return;
    int32_t right = 11;
    for (; x >= 1 << 29; x /= 4) right++;
    const int32_t pairs =
        (__builtin_clz((uint32_t)x) - 1) / 2 - 1; /* 2^27 <= x << 2 pairs < 2^29 */
    right -= pairs;
    const int32_t half = ml_rounding_shift_right((x << 2 * pairs) >> 1, 1); /* of x, in Q3.28 */
    int32_t y = 1 << 28;
    for (int step = 0; step < 5; step++) { /* y += y / 2 - x y^3 / 2 */
        const int32_t cube =
            ml_saturating_shift_left(ml_doubling_high_mul(ml_doubling_high_mul(y, y), y), 6);
        y = ml_saturating_shift_left(
            ml_doubling_high_mul((1 << 28) + (1 << 27), y) - ml_doubling_high_mul(half, cube), 3);
    }
    *mantissa = ml_doubling_high_mul(y, 1518500250); /* sqrt(1/2) */
    if (right < 0) *mantissa = (int32_t)((uint32_t)*mantissa << -right), right = 0;
    *shift = -right;
}
