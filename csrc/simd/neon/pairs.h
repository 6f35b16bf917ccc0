/* pairs.h -- the sums of product_tiles.h at neon: SMULL and SADALP, tiles of 3 rows times 16
 * outputs, of which each has two sums. */
#include <arm_neon.h>
#include <string.h>

#include "simd/neon/requantize_block.h"

#define LANES QUAD

#define MOST_ROWS 3
#define SOME_ROWS(X) X(2) X(3)

enum { GROUP = 4 /* bytes of a row that meet at a time */, ALONE_VECTORS = 8 };

/* Not int32x4x2_t, for which the compiler needs adjacent registers. */
typedef struct pairs {
    int32x4_t front, back; /* of two outputs each */
} pairs;

#define SUMS pairs
#define SUMS_OF(start) ((pairs){vdupq_n_s32(0), vdupq_n_s32(0)})
#define TOTAL(sums, start) vaddq_s32(vpaddq_s32((sums).front, (sums).back), start)

/* sums += the products of four bytes of each row, that every lane of x has. */
INLINE void add_group(const int8x16_t *x, const int8_t *w, const int rows, const int vectors,
                      pairs *sums) {
    ML_UNROLL(16)
    for (int v = 0; v < vectors; v++) {
        const int8x16_t weights = vld1q_s8(w + v * LANES * GROUP);
        ML_UNROLL(4)
        for (int r = 0; r < rows; r++) {
            pairs *sum = &sums[r * vectors + v];
            const int16x8_t front = vmull_s8(vget_low_s8(weights), vget_low_s8(x[r]));
            sum->front = vpadalq_s16(sum->front, front);
            sum->back = vpadalq_s16(sum->back, vmull_high_s8(weights, x[r]));
            __asm__ volatile("" : "+w"(sum->front), "+w"(sum->back));
        }
    }
}

INLINE int8x16_t group_at(const uint8_t *a, int64_t count, const bool flips) {
    uint32_t group = 0;
    if (count == GROUP) memcpy(&group, a, GROUP);
    else
        for (int64_t i = 0; i < count; i++) group |= (uint32_t)a[i] << 8 * i;
    const uint8x16_t x = vreinterpretq_u8_u32(vdupq_n_u32(group));
    return vreinterpretq_s8_u8(flips ? veorq_u8(x, vdupq_n_u8(128)) : x);
}

INLINE const int8_t *add_piece(const uint8_t *const *a, int64_t k, const int8_t *w, int64_t step,
                               const int rows, const int vectors, const bool flips, pairs *sums) {
    int8x16_t x[MOST_ROWS];
    for (int64_t j = 0; j + GROUP <= k; j += GROUP, w += step) {
        ML_UNROLL(4)
        for (int r = 0; r < rows; r++) x[r] = group_at(a[r] + j, GROUP, flips);
        add_group(x, w, rows, vectors, sums);
    }
    if (k % GROUP == 0) return w;
    const int64_t count = k < GROUP ? k : GROUP, from = k - count;
    ML_UNROLL(4)
    for (int r = 0; r < rows; r++) x[r] = group_at(a[r] + from, count, flips);
    add_group(x, w, rows, vectors, sums);
    return w + step;
}
