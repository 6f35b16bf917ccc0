/* max_pool_s8.c -- sixteen channels a vector; signed bytes are compared as unsigned ones,
 * their sign flipped. */
#include "simd/neon/intrinsics.h"
#include <stdbool.h>
#include <string.h>

#include "simd/variants.h"

#define CHANNELS uint8x16_t
#define ELEMENT uint8_t
#define LANES 16

#define FLIPPED(v, sign) ((sign) ? veorq_u8(v, vdupq_n_u8(128)) : (v))
#define READ(p, sign) FLIPPED(vld1q_u8(p), sign)
#define READ_PART(p, count, sign) FLIPPED(load_part(p, count), sign)
#define WRITE(p, v) vst1q_u8(p, v)
#define WRITE_PART(p, v, count) store_part(p, v, count)
#define INITIAL(sign) vdupq_n_u8(0)
#define MERGE(a, b, sign) vmaxq_u8(a, b)
#define FINISH(k, v, sign) FLIPPED(vminq_u8((k)->high, vmaxq_u8((k)->low, v)), sign)

typedef struct constants {
    uint8x16_t low, high;
} constants;

static inline constants begin(const ml_pool_args *p) {
    const int32_t flip = p->is_signed ? 128 : 0;
    return (constants){vdupq_n_u8((uint8_t)(p->low + flip)), vdupq_n_u8((uint8_t)(p->high + flip))};
}

static inline uint8x16_t load_part(const uint8_t *p, int count) {
    uint8_t bytes[LANES] = {0};
    memcpy(bytes, p, (size_t)count);
    return vld1q_u8(bytes);
}

static inline void store_part(uint8_t *p, uint8x16_t v, int count) {
    uint8_t bytes[LANES];
    vst1q_u8(bytes, v);
    memcpy(p, bytes, (size_t)count);
}

#include "simd/tiles/pool.h"

void ml_max_pool_s8_neon(const ml_pool_args *p) {
    if (p->n < LANES / 2) ml_max_pool_s8_scalar(p);
    else if (p->is_signed) pool(p, true);
    else pool(p, false);
}
