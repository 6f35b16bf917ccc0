/* softmax_s8.c -- the plain meaning of softmax_s8. */
#include "math/fixed_point.h"
#include "simd/variants.h"

/* The reciprocal in Q0.31 of a sum in Q12.19, and the right shift of its products with
 * exponentials. If the sum is 512 or more, LiteRT aborts; here every y rounds to 0. */
ml_softmax_scale ml_softmax_scale_of(int64_t sum) {
    if (sum >= (int64_t)512 << 19) return (ml_softmax_scale){0, 0};
    const int32_t headroom = __builtin_clz((uint32_t)sum); /* the maximum adds 1: sum > 0 */
    const uint32_t fraction = ((uint32_t)sum << headroom) - (1u << 31);
    return (ml_softmax_scale){ml_one_over_one_plus((int32_t)fraction), 12 - headroom + 31 - 8};
}

static void softmax_row(const ml_softmax_s8_args *p, const uint8_t *x, uint8_t *y) {
    const uint8_t flip = p->is_signed ? 128 : 0;
    int32_t high = 0;
    int64_t sum = 0;
    for (int64_t i = 0; i < p->n; i++) high = (x[i] ^ flip) > high ? x[i] ^ flip : high;
    for (int64_t i = 0; i < p->n; i++)
        sum += ml_rounding_shift_right(p->exps[(uint8_t)(high - (x[i] ^ flip))], 12);
    const ml_softmax_scale scale = ml_softmax_scale_of(sum);
    for (int64_t i = 0; i < p->n; i++) {
        int32_t v =
            ml_doubling_high_mul(scale.reciprocal, p->exps[(uint8_t)(high - (x[i] ^ flip))]);
        v = ml_rounding_shift_right(v, scale.shift);
        y[i] = (uint8_t)((v > 255 ? 255 : v) ^ flip);
    }
}

void ml_softmax_s8_scalar(const ml_softmax_s8_args *p) {
    for (int64_t row = 0; row < p->rows; row++)
        if (p->n > 0) softmax_row(p, p->x + row * p->n, p->y + row * p->n);
}
