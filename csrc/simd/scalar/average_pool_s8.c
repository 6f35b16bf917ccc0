/* average_pool_s8.c -- the plain meaning of average_pool_s8.
 *
 * The mean of integers, rounded to nearest, ties away from zero: (sum +- count / 2) / count,
 * truncated. In double this is exact, because a quotient that is not an integer differs from one by
 * more than the error of double; and it can be vectorized. */
#include "simd/variants.h"
#include "simd/scalar/pool_plain.h"

static inline int32_t mean(const ml_pool_args *p, int32_t sum) {
    const int64_t count = p->height * p->width;
    const double half = (double)(count / 2);
    const double quotient = (sum + (sum > 0 ? half : -half)) / (double)count;
    return ml_clamp_s32((int32_t)quotient, p->low, p->high);
}

#define ADD(a, b) ((int32_t)((uint32_t)(a) + (uint32_t)(b)))
POOL(pool_s8, int8_t, int32_t, 0, ADD, mean)
POOL(pool_u8, uint8_t, int32_t, 0, ADD, mean)

void ml_average_pool_s8_scalar(const ml_pool_args *p) {
    if (p->is_signed) pool_s8(p);
    else pool_u8(p);
}
