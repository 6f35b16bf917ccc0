/* max_pool_f32.c -- max_pool_f32 in the words of a level. A NaN does not change the total. */
#define INITIAL(sign) SPLAT(-__FLT_MAX__)
#define MERGE(total, x, sign) MAX(x, total)
#define TOTAL(v, count) (v)
#include "simd/portable/pool_f32.h"

void ML_VARIANT(max_pool_f32)(const ml_pool_args *p) {
    if (p->n < LANES && !MASKED) ml_max_pool_f32_scalar(p);
    else pool(p, false);
}
