/* fixed_point.c -- real multipliers as a mantissa and a shift. */
#include "math/fixed_point.h"

#include <math.h>

void ml_quantize_multiplier(double real, int32_t *mantissa, int32_t *shift) {
    *mantissa = 0;
    *shift = 0;
    if (real == 0.0 || isnan(real)) return;
    int exponent = 0;
    double fraction = frexp(fabs(real), &exponent);
    int64_t rounded = isinf(real) ? 0 : (int64_t)floor(fraction * 0x1p31 + 0.5);
    if (rounded == (int64_t)1 << 31) rounded /= 2, exponent++;
    if (exponent > 30 || isinf(real)) rounded = INT32_MAX, exponent = 30;
    if (exponent < -31) return;
    *mantissa = (int32_t)(real < 0 ? -rounded : rounded);
    *shift = exponent;
}
