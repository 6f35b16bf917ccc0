/* matrix.h -- the sums of simd/neon/product_tiles.h at i8mm: SMMLA and USMMLA multiply two rows of
 * eight bytes by two outputs of eight; tiles of 6 rows times 16 outputs. A single row is multiplied
 * twice, because that takes as many instructions as SDOT; products of one row have weights that lie
 * apart, and are neon_dot's. */
#include <arm_neon.h>
#include <string.h>

#include "simd/neon/requantize_block.h"

#define LANES QUAD

#define MOST_ROWS 6
#define SOME_ROWS(X) X(2) X(4) X(6)

enum { GROUP = 8 /* bytes of a row that are multiplied at a time */, ALONE_VECTORS = 8, SHARE = 2 };

/* Vectors of four sums: two outputs of the first row, then the same of the second. */
typedef struct pairs {
    int32x4_t front, back;
} pairs;

INLINE int32x4_t twice(int32x4_t x, const int half) {
    const int64x2_t halves = vreinterpretq_s64_s32(x);
    return vreinterpretq_s32_s64(half == 0 ? vdupq_laneq_s64(halves, 0)
                                           : vdupq_laneq_s64(halves, 1));
}

INLINE int32x4_t row_of(pairs sums, const int row) {
    const int64x2_t front = vreinterpretq_s64_s32(sums.front);
    const int64x2_t back = vreinterpretq_s64_s32(sums.back);
    return vreinterpretq_s32_s64(row == 0 ? vzip1q_s64(front, back) : vzip2q_s64(front, back));
}

#define FLIPS_APART 0
#define IS_LESS(args) ((args)->flip == 128)
#define SUMS pairs
#define SUMS_OF(start) ((pairs){twice(start, 0), twice(start, 1)})
#define TOTAL(sums, row) row_of(sums, row)

/* sum += two rows times two outputs. The empty asm keeps the compiler from loading the next weights
 * early, into registers that sums need. */
INLINE void add_square(int8x16_t x, int8x16_t w, const bool is_unsigned, int32x4_t *sum) {
    *sum = is_unsigned ? vusmmlaq_s32(*sum, vreinterpretq_u8_s8(x), w) : vmmlaq_s32(*sum, x, w);
    __asm__ volatile("" : "+w"(*sum));
}

/* Reads eight bytes of two rows, and moves the rows on; or those of the first row twice. */
INLINE int8x16_t next_eight(const uint8_t **one, const uint8_t **other, const bool is_alone) {
    const uint8_t *a = *one, *b = *other;
    int8x16_t x, y;
    if (is_alone)
        __asm__("ld1r {%0.2d}, [%1], #8" : "=w"(x), "+r"(*one) : "m"(*(const uint8_t (*)[GROUP])a));
    else
        __asm__("ldr %d0, [%1], #8\n\t"
                "ldr %d3, [%2], #8\n\t"
                "zip1 %0.2d, %0.2d, %3.2d"
                : "=&w"(x), "+r"(*one), "+r"(*other), "=&w"(y)
                : "m"(*(const uint8_t (*)[GROUP])a), "m"(*(const uint8_t (*)[GROUP])b));
    return x;
}

/* sums += eight bytes of each row. */
INLINE void add_eight(const int8x16_t *x, const int8_t *w, const int shared, const int vectors,
                      const bool is_unsigned, pairs *sums) {
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v += 2) {
        const int8x16x4_t weights = vld1q_s8_x4(w + v * LANES * GROUP);
        ML_UNROLL(4)
        for (int r = 0; r < shared; r++) ML_UNROLL(4)
        for (int i = 0; i < 2; i++) {
            pairs *sum = &sums[r * vectors + v + i];
            add_square(x[r], weights.val[2 * i], is_unsigned, &sum->front);
            add_square(x[r], weights.val[2 * i + 1], is_unsigned, &sum->back);
        }
    }
}

/* sums += four bytes of each row, the last group of an odd number; the other four of x are 0. */
INLINE void add_four(const int8x16_t *x, const int8_t *w, const int shared, const int vectors,
                     const bool is_unsigned, pairs *sums) {
    ML_UNROLL(8)
    for (int v = 0; v < vectors; v++) {
        const int32x4_t weights = vreinterpretq_s32_s8(vld1q_s8(w + v * LANES * GROUP / 2));
        const int8x16_t front = vreinterpretq_s8_s32(vzip1q_s32(weights, weights));
        const int8x16_t back = vreinterpretq_s8_s32(vzip2q_s32(weights, weights));
        ML_UNROLL(4)
        for (int r = 0; r < shared; r++) {
            add_square(x[r], front, is_unsigned, &sums[r * vectors + v].front);
            add_square(x[r], back, is_unsigned, &sums[r * vectors + v].back);
        }
    }
}

/* Reads the last group of a piece of k bytes, of which those from `a` on are left: the last four
 * bytes, if there are four. */
INLINE uint32_t last_group(const uint8_t *a, int64_t k, int64_t rest) {
    uint32_t group = 0;
    if (k >= 4) memcpy(&group, a + rest - 4, 4);
    else
        for (int64_t i = 0; i < k; i++) group |= (uint32_t)a[i] << 8 * i;
    return group;
}

/* Reads one group or two. */
INLINE uint64_t last_groups(const uint8_t *a, int64_t k, int64_t rest) {
    uint32_t group;
    if (rest <= 4) return last_group(a, k, rest);
    memcpy(&group, a, sizeof group);
    return group | (uint64_t)last_group(a, k, rest) << 32;
}

INLINE int8x16_t side_by_side(uint64_t first, uint64_t second) {
    return vreinterpretq_s8_u64(vsetq_lane_u64(second, vdupq_n_u64(first), 1));
}

INLINE const int8_t *add_bytes(const uint8_t *const *rows_of, int64_t k, const int8_t *w,
                               int64_t step, int64_t at, const int rows, const int vectors,
                               const bool is_unsigned, pairs *sums) {
    const int shared = (int)ml_ceil_div(rows, SHARE);
    const int64_t rest = k % GROUP;
    const uint8_t *a[MOST_ROWS];
    int8x16_t x[MOST_ROWS / SHARE];
    ML_UNROLL(8)
    for (int r = 0; r < SHARE * shared; r++) a[r] = rows_of[rows == 1 ? 0 : r];
    for (int64_t left = k / GROUP; left > 0; left--, w += step) {
        ML_UNROLL(4)
        for (int r = 0; r < shared; r++) x[r] = next_eight(&a[2 * r], &a[2 * r + 1], rows == 1);
        add_eight(x, w, shared, vectors, is_unsigned, sums);
    }
    if (rest == 0) return w;
    ML_UNROLL(4)
    for (int r = 0; r < shared; r++)
        x[r] = side_by_side(last_groups(a[2 * r], k, rest),
                            last_groups(a[2 * r + (rows > 1)], k, rest));
    if (rest > GROUP / 2) {
        add_eight(x, w, shared, vectors, is_unsigned, sums);
        return w + step;
    }
    add_four(x, w - at * GROUP / 2, shared, vectors, is_unsigned, sums);
    return w + step / 2;
}

INLINE const int8_t *add_piece(const ml_matmul_s8_args *p, const uint8_t *const *a, const int8_t *w,
                               int64_t step, int64_t at, const int rows, const int vectors,
                               const bool flips, pairs *sums) {
    return p->flip == 128 ? add_bytes(a, p->k, w, step, at, rows, vectors, false, sums)
                          : add_bytes(a, p->k, w, step, at, rows, vectors, true, sums);
}

/* Sums of packed weights of up to ML_PANEL_S8 outputs, the first of a panel, for
 * callers that do not give them. */
static void sum_weights(const ml_matmul_s8_args *p, int64_t output, int32_t *sums) {
    const int64_t groups = ml_ceil_div(p->k, 4), width = ml_width_s8(p->n, output);
    const int64_t piece_bytes = groups * 4 * width;
    for (int64_t i = 0; i < width && output + i < p->n; i++) {
        int32_t sum = 0;
        for (int64_t piece = 0; piece < p->pieces; piece++) {
            const int8_t *w = p->packed + output * p->pieces * groups * 4 + piece * piece_bytes;
            for (int64_t j = 0; j < groups / 2; j++, w += 8 * width)
                sum += vaddlv_s8(vld1_s8(w + 8 * i));
            for (int64_t j = 0; j < groups % 2 * 4; j++) sum += w[4 * i + j];
        }
        sums[i] = sum;
    }
}
