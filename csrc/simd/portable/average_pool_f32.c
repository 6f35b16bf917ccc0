/* average_pool_f32.c -- average_pool_f32 in the words of a level. */
#define INITIAL(sign) SPLAT(0.0f)
#define MERGE(total, x, sign) ADD(total, x)
#define TOTAL(v, count) DIV(v, count)
#include "simd/portable/pool_f32.h"

static void means_f32(const ml_pool_args *p) { pool_whole(p, false); }

void ML_VARIANT(average_pool_f32)(const ml_pool_args *p) {
    NARROWER_OR(average_pool_f32, p, LANES, pool(p, means_f32, ml_average_pool_f32_scalar));
}
