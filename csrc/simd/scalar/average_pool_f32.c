/* average_pool_f32.c -- the plain meaning of average_pool_f32. */
#include "simd/variants.h"
#include "simd/scalar/pool_plain.h"

#define ADD(a, b) ((a) + (b))
#define MEAN(p, total) \
    ml_clamp_f32((total) / (float)((p)->height * (p)->width), (p)->minimum, (p)->maximum)
POOL(pool, float, float, 0.0f, ADD, MEAN)

void ml_average_pool_f32_scalar(const ml_pool_args *p) { pool(p); }
