/* sum_rows_s8.h -- sum_rows_s8 along rows at neon and the levels above it. Signed bytes are
 * flipped, and 128 per byte is subtracted.
 *
 * The file that includes it defines ADD_BYTES(sum, x), which adds four bytes to each of four sums.
 * */
#include "simd/neon/intrinsics.h"

#include "simd/variants.h"

#ifndef INLINE
#define INLINE __attribute__((always_inline)) static inline
#endif

enum { WIDE = 16, HALF = WIDE / 2, SIDE = 4 /* rows */ };

/* Reads the last `count` bytes of a row of n, fewer than WIDE, with zeros in other lanes; reads
 * nothing before the row. */
INLINE uint8x16_t load_rest(const uint8_t *x, int64_t n, int64_t count) {
    static const uint8_t masks[2 * WIDE] = {[WIDE] = 255, 255, 255, 255, 255, 255, 255, 255,
                                            255,          255, 255, 255, 255, 255, 255, 255};
    uint8_t bytes[WIDE] = {0};
    if (n >= WIDE) return vandq_u8(vld1q_u8(x + n - WIDE), vld1q_u8(masks + count));
    if (n >= HALF) /* the last eight, without those that the first eight have */
        return vcombine_u8(vld1_u8(x), vand_u8(vld1_u8(x + n - HALF), vld1_u8(masks + n)));
    for (int64_t i = 0; i < count; i++) bytes[i] = x[i];
    return vld1q_u8(bytes);
}

/* Returns four sums that add up to the row's. Lanes without a byte of the row are flipped too: they
 * add 128 each if bytes are signed. */
INLINE uint32x4_t sum_row(const uint8_t *x, int64_t n, uint8x16_t flip) {
    uint32x4_t sum = vdupq_n_u32(0);
    int64_t i = 0;
    for (; i + WIDE <= n; i += WIDE) sum = ADD_BYTES(sum, veorq_u8(flip, vld1q_u8(x + i)));
    return i == n ? sum : ADD_BYTES(sum, veorq_u8(flip, load_rest(x, n, n - i)));
}

/* Returns the sums of four rows of eight bytes, two in each vector. */
INLINE uint32x4_t sum_halves(const uint8_t *x, int64_t stride, uint8x16_t flip) {
    uint32x4_t of[2];
    ML_UNROLL(2)
    for (int i = 0; i < 2; i++, x += 2 * stride)
        of[i] =
            ADD_BYTES(vdupq_n_u32(0), veorq_u8(flip, vcombine_u8(vld1_u8(x), vld1_u8(x + stride))));
    return vpaddq_u32(of[0], of[1]);
}

/* Sums rows of eight bytes, SIDE at a time; returns how many rows. */
static int64_t add_halves(const ml_sum_rows_s8_args *p, uint8x16_t flip) {
    const uint32x4_t less = vdupq_n_u32(p->is_signed ? 128 * HALF : 0);
    const int64_t rows = p->rows, stride = p->stride;
    const uint8_t *x = p->x;
    uint32_t *y = (uint32_t *)p->sums;
    int64_t r = 0;
    for (; r + SIDE <= rows; r += SIDE, x += SIDE * stride) {
        const uint32x4_t sums = vsubq_u32(sum_halves(x, stride, flip), less);
        vst1q_u32(y + r, vaddq_u32(vld1q_u32(y + r), sums));
    }
    return r;
}

static void add_along(const ml_sum_rows_s8_args *args) {
    const ml_sum_rows_s8_args p = *args; /* a copy, not read again after each store */
    const uint8x16_t flip = vdupq_n_u8(p.is_signed ? 128 : 0);
    const uint32_t less = p.is_signed ? 128 * (uint32_t)ml_round_up(p.n, WIDE) : 0;
    int64_t r = p.n == HALF ? add_halves(&p, flip) : 0;
    const uint8_t *x = (const uint8_t *)p.x + r * p.stride;
    for (; r + SIDE <= p.rows; r += SIDE, x += SIDE * p.stride) {
        uint32x4_t of[SIDE];
        ML_UNROLL(4)
        for (int i = 0; i < SIDE; i++) of[i] = sum_row(x + i * p.stride, p.n, flip);
        const uint32x4_t sums = vpaddq_u32(vpaddq_u32(of[0], of[1]), vpaddq_u32(of[2], of[3]));
        uint32_t *y = (uint32_t *)p.sums + r;
        vst1q_u32(y, vaddq_u32(vld1q_u32(y), vsubq_u32(sums, vdupq_n_u32(less))));
    }
    for (; r < p.rows; r++, x += p.stride) {
        const uint32_t sum = vaddvq_u32(sum_row(x, p.n, flip)) - less;
        p.sums[r] = (int32_t)((uint32_t)p.sums[r] + sum);
    }
}
