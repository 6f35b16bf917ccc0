/* dot.h -- the sums of simd/neon/product_tiles.h at neon_dot: SDOT, tiles of 4 rows times 16
 * outputs. */
#include <arm_neon.h>
#include <string.h>

#include "simd/neon/requantize_block.h"

#define LANES QUAD

#define MOST_ROWS 5
#define ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5)

enum { GROUP = 4 /* bytes of a row that meet at a time */ };

#define SUMS int32x4_t
#define SUMS_OF(start) (start)
#define TOTAL(sums, start) (sums)

INLINE int8x16_t flipped(uint8x16_t x, const bool flips) {
    return vreinterpretq_s8_u8(flips ? veorq_u8(x, vdupq_n_u8(128)) : x);
}

/* sums += one group of each row, the lane of x that its number says. The empty asm keeps the next
 * weights from waiting in registers that sums need. */
#define ADD_LANE(lane)                                                                          \
    ML_UNROLL(4) for (int v = 0; v < vectors; v += 4) {                                         \
        const int8x16x4_t weights = vld1q_s8_x4(w + v * LANES * GROUP);                         \
        ML_UNROLL(8) for (int r = 0; r < rows; r++) ML_UNROLL(4) for (int i = 0; i < 4; i++) {  \
            int32x4_t *sum = &sums[r * vectors + v + i];                                        \
            *sum = vdotq_laneq_s32(*sum, weights.val[i], x[r], lane);                           \
            __asm__ volatile("" : "+w"(*sum));                                                  \
        }                                                                                       \
    }                                                                                           \
    w += step;

/* Up to four bytes, in the first lane. */
INLINE int8x16_t group_at(const uint8_t *a, int64_t count, const bool flips) {
    uint32_t group = 0;
    if (count == GROUP) memcpy(&group, a, GROUP);
    else
        for (int64_t i = 0; i < count; i++) group |= (uint32_t)a[i] << 8 * i;
    return flipped(vreinterpretq_u8_u32(vsetq_lane_u32(group, vdupq_n_u32(0), 0)), flips);
}

INLINE const int8_t *add_piece(const uint8_t *const *a, int64_t k, const int8_t *w, int64_t step,
                               const int rows, const int vectors, const bool flips,
                               int32x4_t *sums) {
    int8x16_t x[MOST_ROWS];
    int64_t j = 0;
    for (; j + 4 * GROUP <= k; j += 4 * GROUP) {
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++) x[r] = flipped(vld1q_u8(a[r] + j), flips);
        ADD_LANE(0)
        ADD_LANE(1)
        ADD_LANE(2)
        ADD_LANE(3)
    }
    if (k & 2 * GROUP) {
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++)
            x[r] = flipped(vcombine_u8(vld1_u8(a[r] + j), vdup_n_u8(0)), flips);
        ADD_LANE(0)
        ADD_LANE(1)
        j += 2 * GROUP;
    }
    if (k & GROUP) {
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++) x[r] = group_at(a[r] + j, GROUP, flips);
        ADD_LANE(0)
    }
    if (k % GROUP == 0) return w;
    const int64_t count = k < GROUP ? k : GROUP, from = k - count;
    ML_UNROLL(8)
    for (int r = 0; r < rows; r++) x[r] = group_at(a[r] + from, count, flips);
    ADD_LANE(0)
    return w;
}
