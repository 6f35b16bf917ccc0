/* max_pool_s8.c -- max_pool_s8 in the words of a level. */
#include "simd/words.h"

#define CHANNELS VECTOR_U8
#define ELEMENT uint8_t
#define READ(p, sign) LOAD_U8(p)
#define READ_PART(p, count, sign) LOAD_PART_U8(p, count)
#define WRITE(p, v) STORE_U8(p, v)
#define WRITE_PART(p, v, count) STORE_PART_U8(p, v, count)
#define INITIAL(sign) SPLAT_U8((sign) ? INT8_MIN : 0)
#define MERGE(a, b, sign) MAX_U8(a, b, sign)
#define FINISH(k, v, sign) CLAMP_U8(v, (k)->low, (k)->high, sign)
#define POOL_LANES LANES_U8

typedef struct constants {
    VECTOR_U8 low, high;
} constants;

static inline constants begin(const ml_pool_args *p) {
    return (constants){SPLAT_U8(p->low), SPLAT_U8(p->high)};
}

#include "simd/tiles/pool.h"

void ML_VARIANT(max_pool_s8)(const ml_pool_args *p) {
    if (p->n < LANES_U8 / 2 && !MASKED_S32) ml_max_pool_s8_scalar(p);
    else if (p->is_signed) pool(p, true);
    else pool(p, false);
}
