/* max_pool_f32.c -- max_pool_f32 in the words of a level. A NaN does not change the total. */
#define INITIAL(sign) SPLAT(-__FLT_MAX__)
#define MERGE(total, x, sign) MAX(x, total)
#define TOTAL(v, count) (v)
#include "simd/portable/pool_f32.h"

static void maxima_f32(const ml_pool_args *p) { pool_whole(p, false); }

void ML_VARIANT(max_pool_f32)(const ml_pool_args *p) {
    NARROWER_OR(max_pool_f32, p, LANES, pool(p, maxima_f32, ml_max_pool_f32_scalar));
}
