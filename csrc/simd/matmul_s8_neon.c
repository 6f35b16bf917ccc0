/* matmul_s8_neon.c -- UMULL and UADALP: tiles of 3 rows times 16 outputs, of which each has two sums. */
#include <arm_neon.h>

#define FUNCTION ml_matmul_s8_neon
#define ROWS 3
#define TILES(X) X(1, 8) X(1, 4) X(2, 4) X(3, 4)

#define SUMS uint32x4x2_t
#define ZERO() ((uint32x4x2_t){{vdupq_n_u32(0), vdupq_n_u32(0)}})
#define ADD_DOT(sums, w, x) add_dot(sums, w, x)
#define ADD_DOT_LANE(sums, w, x, lane) \
    add_dot(sums, w, vreinterpretq_u8_u32(vdupq_laneq_u32(vreinterpretq_u32_u8(x), lane)))
#define TOTAL(sums) vpaddq_u32((sums).val[0], (sums).val[1])

static inline uint32x4x2_t add_dot(uint32x4x2_t sums, uint8x16_t w, uint8x16_t x) {
    sums.val[0] = vpadalq_u16(sums.val[0], vmull_u8(vget_low_u8(w), vget_low_u8(x)));
    sums.val[1] = vpadalq_u16(sums.val[1], vmull_high_u8(w, x));
    __asm__("" : "+w"(sums.val[0]), "+w"(sums.val[1])); /* stay in their registers */
    return sums;
}

#include "matmul_s8_neon.h"
