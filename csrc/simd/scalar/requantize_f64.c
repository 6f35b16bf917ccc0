/* requantize_f64.c -- the plain meaning of requantize_f64. */
#include "math/fixed_point.h"
#include "simd/variants.h"

static int32_t rounded(double v) {
    const double just_below_half = 0.49999999999999994;
    v = v < -1e9 ? -1e9 : v > 1e9 ? 1e9 : v;
    return (int32_t)(v + (v < 0 ? -just_below_half : just_below_half));
}

void ml_requantize_f64_scalar(const ml_requantize_f64_args *p) {
    for (int64_t r = 0; r < p->rows; r++) {
        const int32_t *sums = p->sums + r * p->sums_stride;
        int8_t *y = p->y + r * p->y_stride;
        for (int64_t i = 0; i < p->n; i++)
            y[i] = (int8_t)ml_clamp_s32(rounded((double)sums[i] * p->reals[i]) + p->zero, p->low,
                                        p->high);
    }
}
