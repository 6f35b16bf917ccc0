/* dot.h -- the sums of simd/neon/product_tiles.h at neon_dot: SDOT, tiles of 5 rows times 16
 * outputs. */
#include <arm_neon.h>
#include <string.h>

#include "simd/neon/requantize_block.h"

#define LANES QUAD

#define MOST_ROWS 5
#define SOME_ROWS(X) X(2) X(3) X(4) X(5)

enum { GROUP = 4 /* bytes of a row that are multiplied at a time */, ALONE_VECTORS = 16 };

#include "simd/neon/sum_weights.h"

#define IS_LESS(args) true
#define SHARE 1
#define FLIPS_APART 1
#define SUMS int32x4_t
#define SUMS_OF(start) (start)
#define TOTAL(sums, row) (sums)

INLINE int8x16_t flipped(uint8x16_t x, const bool flips) {
    return vreinterpretq_s8_u8(flips ? veorq_u8(x, vdupq_n_u8(128)) : x);
}

/* sums += the group in lane `lane` of each row. The empty asm keeps the compiler from loading the
 * next weights early, into registers that sums need. */
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

/* The same for a single row, whose weights lie one after the other. Written as instructions,
 * because the compiler would move so many sums to other registers. */
#define ADD_QUAD(lane, sum)                                                                     \
    __asm__("ld1 {v0.16b-v3.16b}, [%4], #64\n\t"                                                \
            "sdot %0.4s, v0.16b, %5.4b[" #lane "]\n\t"                                          \
            "sdot %1.4s, v1.16b, %5.4b[" #lane "]\n\t"                                          \
            "sdot %2.4s, v2.16b, %5.4b[" #lane "]\n\t"                                          \
            "sdot %3.4s, v3.16b, %5.4b[" #lane "]"                                               \
            : "+w"((sum)[0]), "+w"((sum)[1]), "+w"((sum)[2]), "+w"((sum)[3]), "+r"(w)           \
            : "w"(x), "m"(*(const int8_t (*)[64])w)                                             \
            : "v0", "v1", "v2", "v3");
#define ADD_PANEL(lane)                                                                         \
    ADD_QUAD(lane, sums) ADD_QUAD(lane, sums + 4)                                               \
    ADD_QUAD(lane, sums + 8) ADD_QUAD(lane, sums + 12)

INLINE const int8_t *add_alone(const uint8_t *a, int64_t k, const int8_t *w, const bool flips,
                               int32x4_t *sums) {
    int8x16_t x;
    int64_t left = k;
    for (; left >= 4 * GROUP; left -= 4 * GROUP, a += 4 * GROUP) {
        x = flipped(vld1q_u8(a), flips);
        ADD_PANEL(0)
        ADD_PANEL(1)
        ADD_PANEL(2)
        ADD_PANEL(3)
    }
    for (; left >= GROUP; left -= GROUP, a += GROUP) {
        x = group_at(a, GROUP, flips);
        ADD_PANEL(0)
    }
    if (left == 0) return w;
    const int64_t count = k < GROUP ? k : GROUP;
    x = group_at(a + left - count, count, flips);
    ADD_PANEL(0)
    return w;
}

INLINE const int8_t *add_piece(const ml_matmul_s8_args *p, const uint8_t *const *a, const int8_t *w,
                               int64_t step, int64_t at, const int rows, const int vectors,
                               const bool flips, int32x4_t *sums) {
    const int64_t k = p->k;
    int8x16_t x[MOST_ROWS];
    int64_t j = 0;
    if (rows == 1 && vectors == ALONE_VECTORS) return add_alone(a[0], k, w, flips, sums);
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
