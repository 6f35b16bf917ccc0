/* max_pool_s8.c -- max_pool_s8 in the words of a level. */
#include "simd/words.h"

#define CHANNELS VECTOR_U8
#define ELEMENT uint8_t
#define READ(p, sign) LOAD_U8(p)
#define WRITE(p, v) STORE_U8(p, v)
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

static void maxima_s8(const ml_pool_args *p) { pool_whole(p, true); }
static void maxima_u8(const ml_pool_args *p) { pool_whole(p, false); }

void ML_VARIANT(max_pool_s8)(const ml_pool_args *p) {
    pixels_fn *const whole = p->is_signed ? maxima_s8 : maxima_u8;
    NARROWER_OR(max_pool_s8, p, LANES_U8, pool(p, whole, ml_max_pool_s8_scalar));
}
