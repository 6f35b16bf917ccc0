/* pairs.h -- the sums of product_tiles.h at neon: tiles of 2 rows times 16 outputs, of which each
 * has two sums. SMULL and SMLAL add up two products in 16 bits, where no weight is -128, and
 * SADALP pairs of such numbers in 32. */
#include "simd/neon/intrinsics.h"
#include <string.h>

#include "simd/neon/requantize_block.h"

#define LANES QUAD

enum { GROUP = 4 /* bytes of a row that are multiplied at a time */ };

#ifdef __aarch64__
#define MOST_ROWS 2
#define SOME_ROWS(X) X(2)
enum { ALONE_VECTORS = 8 };
#else /* 32-bit Arm has half the registers: tiles of one row */
#define MOST_ROWS 1
#define SOME_ROWS(X)
enum { ALONE_VECTORS = 4 };
#endif

#include "simd/neon/sum_weights.h"

/* Not int32x4x2_t, for which the compiler needs adjacent registers. */
typedef struct pairs {
    int32x4_t front, back; /* two outputs in each vector */
} pairs;

#define IS_LESS(args) true
#define SHARE 1
#define FLIPS_APART 1
#define SUMS pairs
#define SUMS_OF(start) begin_pairs(start)
#define TOTAL(sums, row) vpaddq_s32((sums).front, (sums).back)

/* One sum of each output begins with its start, the other with zero. The empty asm gives both
 * registers of their own. */
INLINE pairs begin_pairs(int32x4_t start) {
    const uint32x4_t x = vreinterpretq_u32_s32(start);
    pairs sums = {vreinterpretq_s32_u64(vmovl_u32(vget_low_u32(x))),
                  vreinterpretq_s32_u64(vmovl_high_u32(x))};
    __asm__ volatile("" : "+w"(sums.front), "+w"(sums.back));
    return sums;
}

/* sums += the products of one group of each row, which every lane of x has. The empty asm keeps
 * the compiler from moving sums to other registers. */
INLINE void add_group(const int8x16_t *x, const int8_t *w, const int rows, const int vectors,
                      pairs *sums) {
    ML_UNROLL(8)
    for (int v = 0; v < vectors; v++) {
        const int8x16_t weights = vld1q_s8(w + v * LANES * GROUP);
        ML_UNROLL(2)
        for (int r = 0; r < rows; r++) {
            pairs *sum = &sums[r * vectors + v];
            const int16x8_t front = vmull_s8(vget_low_s8(weights), vget_low_s8(x[r]));
            sum->front = vpadalq_s16(sum->front, front);
            sum->back = vpadalq_s16(sum->back, vmull_high_s8(weights, x[r]));
            __asm__ volatile("" : "+w"(sum->front), "+w"(sum->back));
        }
    }
}

#ifdef __aarch64__
/* Adds the products of two groups to two sums. Written as instructions, because the compiler would
 * move sums to other registers, and in an order in which no instruction waits for one of the three
 * before it. */
INLINE void add_products(const int8x16_t *x_a, const int8x16_t *w_a, const int8x16_t *x_b,
                         const int8x16_t *w_b, pairs *a, pairs *b) {
    int16x8_t t, u, v, w;
    __asm__("smull %4.8h, %8.8b, %10.8b\n\t"
            "smull2 %5.8h, %8.16b, %10.16b\n\t"
            "smull %6.8h, %12.8b, %14.8b\n\t"
            "smull2 %7.8h, %12.16b, %14.16b\n\t"
            "smlal %4.8h, %9.8b, %11.8b\n\t"
            "smlal2 %5.8h, %9.16b, %11.16b\n\t"
            "smlal %6.8h, %13.8b, %15.8b\n\t"
            "smlal2 %7.8h, %13.16b, %15.16b\n\t"
            "sadalp %0.4s, %4.8h\n\t"
            "sadalp %1.4s, %5.8h\n\t"
            "sadalp %2.4s, %6.8h\n\t"
            "sadalp %3.4s, %7.8h"
            : "+w"(a->front), "+w"(a->back), "+w"(b->front), "+w"(b->back), "=&w"(t), "=&w"(u),
              "=&w"(v), "=&w"(w)
            : "w"(w_a[0]), "w"(w_a[1]), "w"(x_a[0]), "w"(x_a[1]), "w"(w_b[0]), "w"(w_b[1]),
              "w"(x_b[0]), "w"(x_b[1]));
}
#else
/* Adds the products of two groups to a sum. */
INLINE void add_pair(const int8x16_t *x, int8x16_t first, int8x16_t second, pairs *sum) {
    const int8x8_t a = vget_low_s8(x[0]), b = vget_low_s8(x[1]);
    const int16x8_t front = vmlal_s8(vmull_s8(vget_low_s8(first), a), vget_low_s8(second), b);
    sum->front = vpadalq_s16(sum->front, front);
    const int16x8_t back = vmlal_s8(vmull_s8(vget_high_s8(first), a), vget_high_s8(second), b);
    sum->back = vpadalq_s16(sum->back, back);
    __asm__ volatile("" : "+w"(sum->front), "+w"(sum->back));
}
#endif

/* sums += the products of two groups, whose weights lie `step` apart, where no weight is -128. */
INLINE void add_two_groups(int8x16_t x[MOST_ROWS][2], const int8_t *w, int64_t step, const int rows,
                           const int vectors, pairs *sums) {
#ifndef __aarch64__
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++, w += LANES * GROUP)
        add_pair(x[0], vld1q_s8(w), vld1q_s8(w + step), &sums[v]);
#else
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v += 2) {
        const int8_t *first = w + v * LANES * GROUP, *second = first + step;
        const int8x16_t one[2] = {vld1q_s8(first), vld1q_s8(second)};
        const int8x16_t other[2] = {vld1q_s8(first + LANES * GROUP),
                                    vld1q_s8(second + LANES * GROUP)};
        if (rows == 1) {
            add_products(x[0], one, x[0], other, &sums[v], &sums[v + 1]);
        } else {
            add_products(x[0], one, x[1], one, &sums[v], &sums[vectors + v]);
            add_products(x[0], other, x[1], other, &sums[v + 1], &sums[vectors + v + 1]);
        }
    }
#endif
}

INLINE int8x16_t flipped(uint8x16_t x, const bool flips) {
    return vreinterpretq_s8_u8(flips ? veorq_u8(x, vdupq_n_u8(128)) : x);
}

/* Reads four bytes of a row into every lane, and moves the row on. */
INLINE int8x16_t next_group(const uint8_t **row, const bool flips) {
    const uint8_t *a = *row;
    uint8x16_t x;
#ifdef __aarch64__
    __asm__("ld1r {%0.4s}, [%1], #4" : "=w"(x), "+r"(*row) : "m"(*(const uint8_t (*)[GROUP])a));
#else
    uint32_t group;
    memcpy(&group, a, GROUP);
    x = vreinterpretq_u8_u32(vdupq_n_u32(group));
    *row = a + GROUP;
#endif
    return flipped(x, flips);
}

/* Reads the last group of a row, of which fewer than four bytes are left: with the bytes before
 * them, if the piece has those. Their weights are zeros in this group. */
INLINE int8x16_t last_group(const uint8_t *a, int64_t k, int64_t left, const bool flips) {
    uint32_t group = 0;
    if (k >= GROUP) memcpy(&group, a + left - GROUP, GROUP);
    else
        for (int64_t i = 0; i < left; i++) group |= (uint32_t)a[i] << 8 * i;
    return flipped(vreinterpretq_u8_u32(vdupq_n_u32(group)), flips);
}

INLINE const int8_t *add_piece(const ml_matmul_s8_args *p, const uint8_t *const *rows_of,
                               const int8_t *w, int64_t step, int64_t at, const int rows,
                               const int vectors, const bool flips, pairs *sums) {
    const uint8_t *a[MOST_ROWS];
    int8x16_t x[MOST_ROWS], two[MOST_ROWS][2];
    int64_t left = p->k;
    const int64_t twos = p->narrow ? left / (2 * GROUP) : 0;
    ML_UNROLL(2)
    for (int r = 0; r < rows; r++) a[r] = rows_of[r];
    for (int64_t i = twos; i > 0; i--, w += 2 * step) {
        ML_UNROLL(2)
        for (int r = 0; r < rows; r++) {
            two[r][0] = next_group(&a[r], flips);
            two[r][1] = next_group(&a[r], flips);
        }
        add_two_groups(two, w, step, rows, vectors, sums);
    }
    for (left -= 2 * GROUP * twos; left >= GROUP; left -= GROUP, w += step) {
        ML_UNROLL(2)
        for (int r = 0; r < rows; r++) x[r] = next_group(&a[r], flips);
        add_group(x, w, rows, vectors, sums);
    }
    if (left == 0) return w;
    ML_UNROLL(2)
    for (int r = 0; r < rows; r++) x[r] = last_group(a[r], p->k, left, flips);
    add_group(x, w, rows, vectors, sums);
    return w + step;
}
