/* max_pool_s8.c -- the plain meaning of max_pool_s8. */
#include "simd/variants.h"
#include "simd/scalar/pool_plain.h"

#define GREATER(a, b) ((a) < (b) ? (b) : (a))
#define CLAMP(p, total) ml_clamp_s32(total, (p)->low, (p)->high)
POOL(pool_s8, int8_t, int8_t, INT8_MIN, GREATER, CLAMP)
POOL(pool_u8, uint8_t, uint8_t, 0, GREATER, CLAMP)

void ml_max_pool_s8_scalar(const ml_pool_args *p) {
    if (p->is_signed) pool_s8(p);
    else pool_u8(p);
}
