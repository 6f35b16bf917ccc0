/* matmul_s8.c -- UMULL and UADALP: tiles of 3 rows times 16 outputs, of which each has two
 * sums. */
#include <arm_neon.h>

#include "simd/variants.h"

#define MOST_ROWS 3
#define TILES(X) X(1, 8) X(1, 4) X(2, 4) X(3, 4)

#define SUMS pairs
#define ZERO() ((pairs){vdupq_n_u32(0), vdupq_n_u32(0)})
#define ADD_DOT(sums, w, x) add_dot(sums, w, x)
#define ADD_DOT_LANE(sums, w, x, lane) \
    add_dot(sums, w, vreinterpretq_u8_u32(vdupq_laneq_u32(vreinterpretq_u32_u8(x), lane)))
#define KEEP(sums) __asm__ volatile("" : "+w"((sums).front), "+w"((sums).back))
#define TOTAL(sums) vpaddq_u32((sums).front, (sums).back)

/* Not uint32x4x2_t, for which the compiler needs adjacent registers. */
typedef struct pairs {
    uint32x4_t front, back; /* of two outputs each */
} pairs;

static inline pairs add_dot(pairs sums, uint8x16_t w, uint8x16_t x) {
    sums.front = vpadalq_u16(sums.front, vmull_u8(vget_low_u8(w), vget_low_u8(x)));
    sums.back = vpadalq_u16(sums.back, vmull_high_u8(w, x));
    return sums;
}

#include "simd/tiles/matmul_s8_neon.h"

void ml_matmul_s8_neon(const ml_matmul_s8_args *p) { multiply(p); }
