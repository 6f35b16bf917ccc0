/* max_pool_f32.c -- the plain meaning of max_pool_f32. */
#include "simd/variants.h"
#include "simd/scalar/pool_plain.h"

#define CLAMP(p, total) ml_clamp_f32(total, (p)->minimum, (p)->maximum)
POOL(pool, float, float, -__FLT_MAX__, ml_max_f32, CLAMP)

void ml_max_pool_f32_scalar(const ml_pool_args *p) { pool(p); }
