/* requantize_block.h -- turns vectors of four columns' sums into bytes, in registers: for
 * requantize, product_s8 and depthwise_product_s8 of neon and the levels above it.
 *
 * SQRDMULH is exactly SaturatingRoundingDoublingHighMul, because mantissas are 0 or above. Its
 * result is above INT32_MIN. The rounding shift rounds half up; if 1 is subtracted, negative
 * numbers are rounded half away from zero. Where negative numbers are clamped to the zero point
 * anyway, that makes no difference. */
#ifndef ML_SIMD_NEON_REQUANTIZE_BLOCK_H
#define ML_SIMD_NEON_REQUANTIZE_BLOCK_H

#include "simd/neon/intrinsics.h"
#include <stdbool.h>
#include <string.h>

#include "simd/simd.h"

enum { QUAD = 4, TOGETHER = 4 /* vectors that become one of bytes */ };

#define INLINE __attribute__((always_inline)) static inline

/* The constants that scale the sums of a vector of columns. */
typedef struct scale_block {
    int32x4_t mantissas;
    int32x4_t shifts; /* to the left; numbers below 0 shift to the right */
} scale_block;

/* The constants that all columns share. Unsigned bytes are computed minus 128, and flipped at the
 * end. */
typedef struct ends {
    int16x8_t zero;
    int8x16_t low, high;
    uint8x16_t flip;
    bool one_sided; /* negative numbers are clamped to the zero point or above */
} ends;

static inline ends ends_of(const ml_requantize_args *p) {
    const int32_t less = p->low < 0 ? 0 : 128;
    return (ends){.zero = vdupq_n_s16((int16_t)(p->zero - less)),
                  .low = vdupq_n_s8((int8_t)(p->low - less)),
                  .high = vdupq_n_s8((int8_t)(p->high - less)),
                  .flip = vdupq_n_u8((uint8_t)less),
                  .one_sided = p->low >= p->zero};
}

/* Loads the first `count` of QUAD columns, and `other` in place of the rest. */
INLINE int32x4_t load_columns(const int32_t *p, int64_t count, int32_t other) {
    if (__builtin_expect(count >= QUAD, 1)) return vld1q_s32(p);
    int32_t lanes[QUAD] = {other, other, other, other};
    for (int64_t i = 0; i < count; i++) lanes[i] = p[i];
    return vld1q_s32(lanes);
}

/* True if scale_plain can shift by these numbers. */
INLINE bool are_plain(int32x4_t shifts, bool one_sided) {
    return vmaxvq_s32(shifts) < (one_sided ? 1 : 0);
}

INLINE int32x4_t scale_plain(int32x4_t v, const scale_block *b, const bool one_sided) {
    v = vqrdmulhq_s32(v, b->mantissas);
    if (!one_sided) v = vsraq_n_s32(v, v, 31);
    return vrshlq_s32(v, b->shifts);
}

/* Scales by shifts of any direction. */
INLINE int32x4_t scale_any(int32x4_t v, const scale_block *b) {
    const int32x4_t nothing = vdupq_n_s32(0), right = vminq_s32(b->shifts, nothing);
    v = vqrdmulhq_s32(vshlq_s32(v, vmaxq_s32(b->shifts, nothing)), b->mantissas);
    return vrshlq_s32(vsraq_n_s32(v, vandq_s32(v, right), 31), right);
}

/* Scales four vectors of sums of the columns from `column` on, of which `left` exist; for scales
 * that are used once. */
INLINE void scale_columns(const ml_requantize_args *p, int64_t column, int64_t left, bool one_sided,
                          int32x4_t *v) {
    scale_block b[TOGETHER];
    ML_UNROLL(4)
    for (int i = 0; i < TOGETHER; i++, column += QUAD, left -= QUAD) {
        b[i].mantissas = load_columns(p->mantissas + column, left, 0);
        b[i].shifts = load_columns(p->shifts + column, left, -1);
    }
    const int32x4_t most =
        vmaxq_s32(vmaxq_s32(b[0].shifts, b[1].shifts), vmaxq_s32(b[2].shifts, b[3].shifts));
    const bool is_plain = are_plain(most, one_sided);
    ML_UNROLL(4)
    for (int i = 0; i < TOGETHER; i++)
        v[i] = !is_plain   ? scale_any(v[i], &b[i])
               : one_sided ? scale_plain(v[i], &b[i], true)
                           : scale_plain(v[i], &b[i], false);
}

/* Converts four vectors of numbers to bytes, in their order: adds the zero point, and clamps. */
INLINE uint8x16_t to_bytes(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d, const ends *e) {
    const int16x8_t front = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(a), b), e->zero);
    const int16x8_t back = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(c), d), e->zero);
    const int8x16_t bytes = vqmovn_high_s16(vqmovn_s16(front), back);
    return veorq_u8(vreinterpretq_u8_s8(vminq_s8(e->high, vmaxq_s8(e->low, bytes))), e->flip);
}

/* Writes the first `count` bytes of a vector. */
static inline void put_part(int8_t *y, uint8x16_t bytes, int64_t count) {
    uint64x2_t left = vreinterpretq_u64_u8(bytes);
    if (count & 8) {
        vst1_u8((uint8_t *)y, vreinterpret_u8_u64(vget_low_u64(left)));
        left = vdupq_laneq_u64(left, 1), y += 8;
    }
    uint64_t rest = vgetq_lane_u64(left, 0);
    if (count & 4) memcpy(y, &rest, 4), rest >>= 32, y += 4;
    if (count & 2) memcpy(y, &rest, 2), rest >>= 16, y += 2;
    if (count & 1) *y = (int8_t)rest;
}

INLINE void put(int8_t *y, uint8x16_t bytes, int64_t count) {
    if (__builtin_expect(count >= 16, 1)) vst1q_u8((uint8_t *)y, bytes);
    else put_part(y, bytes, count);
}

/* Multiplies sums by reals and rounds half away from zero. Results beyond int32 saturate, which is
 * far beyond the limits they are clamped to. */
INLINE int32x4_t scale_real(int32x4_t sums, float64x2_t front, float64x2_t back) {
    const float64x2_t a = vcvtq_f64_s64(vmovl_s32(vget_low_s32(sums)));
    const float64x2_t b = vcvtq_f64_s64(vmovl_high_s32(sums));
    return vqmovn_high_s64(vqmovn_s64(vcvtaq_s64_f64(vmulq_f64(a, front))),
                           vcvtaq_s64_f64(vmulq_f64(b, back)));
}

#endif
