/* fixed_point.c -- real multipliers as a mantissa and a shift. */
#include "math/fixed_point.h"

#include <math.h>

void ml_quantize_multiplier(double real, int32_t *mantissa, int32_t *shift) {
    *mantissa = 0;
    *shift = 0;
    if (!(real > 0.0)) return;
    int exponent = 0;
    double fraction = isinf(real) ? 0.5 : frexp(real, &exponent);
    int64_t rounded = (int64_t)floor(fraction * 0x1p31 + 0.5); /* exact: at most 53 bits */
    if (rounded == (int64_t)1 << 31) rounded /= 2, exponent++;
    if (exponent > 30 || isinf(real)) {
        *mantissa = INT32_MAX;
        *shift = 30;
    } else if (exponent >= -31) {
        *mantissa = (int32_t)rounded;
        *shift = exponent;
    }
}
