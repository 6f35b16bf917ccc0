/* average_pool_f32.c -- average_pool_f32 in the words of a level. */
#define INITIAL(sign) SPLAT(0.0f)
#define MERGE(total, x, sign) ADD(total, x)
#define TOTAL(v, count) DIV(v, count)
#include "simd/portable/pool_f32.h"

void ML_VARIANT(average_pool_f32)(const ml_pool_args *p) {
    if (p->n < LANES && !MASKED) ml_average_pool_f32_scalar(p);
    else pool(p, false);
}
