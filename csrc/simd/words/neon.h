/* neon.h -- the words of neon, as simd/words.h explains them: four floats, or four int32; every
 * aarch64 has it. */
#ifndef ML_SIMD_WORDS_NEON_H
#define ML_SIMD_WORDS_NEON_H

#include "simd/neon/intrinsics.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 4, PANEL_F32 = 8, ROWS_F32 = 5 };
#define VECTOR float32x4_t
#define REGISTER "w"
#define MASKED 0
#define MASK uint32x4_t
#define LOAD(p) vld1q_f32(p)
#define STORE(p, v) vst1q_f32(p, v)
static inline float32x4_t LOAD_PART_OR(const float *p, int64_t count, float32x4_t other) {
    other = vld1q_lane_f32(p, other, 0);
    if (count > 1) other = vld1q_lane_f32(p + 1, other, 1);
    return count > 2 ? vld1q_lane_f32(p + 2, other, 2) : other;
}
#define LOAD_PART(p, count) LOAD_PART_OR(p, count, vdupq_n_f32(0.0f))
static inline void STORE_PART(float *p, float32x4_t v, int64_t count) {
    vst1q_lane_f32(p, v, 0);
    if (count > 1) vst1q_lane_f32(p + 1, v, 1);
    if (count > 2) vst1q_lane_f32(p + 2, v, 2);
}
#define SPLAT(x) vdupq_n_f32(x)
#define ADD(a, b) vaddq_f32(a, b)
#define SUB(a, b) vsubq_f32(a, b)
#define MUL(a, b) vmulq_f32(a, b)
#define DIV(a, b) vdivq_f32(a, b)
#define SQRT(a) vsqrtq_f32(a)
#define RSQRT(a) DIV(SPLAT(1.0f), SQRT(a))
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#define FNMA(a, b, c) vfmsq_f32(c, a, b)
#define FUSED 1
/* Not by fmax or fmaxnm: one returns NaN if either operand is NaN, the other ignores NaN. */
static inline float32x4_t MAX(float32x4_t a, float32x4_t b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
static inline float32x4_t MIN(float32x4_t a, float32x4_t b) {
    return vbslq_f32(vcltq_f32(a, b), a, b);
}
#define CLAMP(v, low, high) vminq_f32(high, vmaxq_f32(low, v))
#define LESS(a, b) vcltq_f32(a, b)
#define LESS_EQUAL(a, b) vcleq_f32(a, b)
#define EQUAL(a, b) vceqq_f32(a, b)
#define NOT_EQUAL(a, b) vmvnq_u32(vceqq_f32(a, b))
#define PICK(mask, a, b) vbslq_f32(mask, a, b)
#define ANY(mask) (vmaxvq_u32(mask) != 0)
#define ABS(a) vabsq_f32(a)
static inline float32x4_t XOR(float32x4_t a, float32x4_t b) {
    return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)));
}
static inline float32x4_t SIGN(float32x4_t a) {
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a), vdupq_n_u32(0x80000000u)));
}
#define ROUND(a) vrndnq_f32(a)
#define NEAREST(a) ROUND(a)
#define FLOOR(a) vrndmq_f32(a)
#define CEIL(a) vrndpq_f32(a)

#define VECTOR_S32 int32x4_t
#define SPLAT_S32(x) vdupq_n_s32(x)
#define ADD_S32(a, b) vaddq_s32(a, b)
#define SUB_S32(a, b) vsubq_s32(a, b)
#define AND_S32(a, b) vandq_s32(a, b)
#define SHIFT_LEFT_S32(a, bits) vshlq_n_s32(a, bits)
#define SHIFT_RIGHT_S32(a, bits) vshrq_n_s32(a, bits)
#define FLOATS(a) vcvtq_f32_s32(a)
#define NEAREST_S32(a) vcvtnq_s32_f32(a)
#define BITS_OF(a) vreinterpretq_s32_f32(a)
#define OF_BITS(a) vreinterpretq_f32_s32(a)

#define SUM_OF(v) vaddvq_f32(v)
#define MAX_OF(v) vmaxvq_f32(v)
#define MIN_OF(v) vminvq_f32(v)
static inline void STORE_ONES_PART(uint8_t *p, uint32x4_t mask, int64_t count) {
    const uint16x4_t words = vmovn_u32(mask);
    const uint8x8_t bytes = vand_u8(vmovn_u16(vcombine_u16(words, words)), vdup_n_u8(1));
    const uint32_t ones = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
    memcpy(p, &ones, (size_t)count);
}
#define STORE_ONES(p, mask) STORE_ONES_PART(p, mask, LANES)

/* Bytes as int32, and back. NaN would become 0. */
static inline int32x4_t NEAREST_OR_LEAST(float32x4_t a) {
    return vbslq_s32(vceqq_f32(a, a), vcvtnq_s32_f32(a), vdupq_n_s32(INT32_MIN));
}
#define NEAREST_OR_LEAST NEAREST_OR_LEAST

#define MASKED_S32 0
#define LOAD_S32(p) vld1q_s32(p)
#define STORE_S32(p, v) vst1q_s32(p, v)
#define LOAD_PART_S32(p, count) BITS_OF(LOAD_PART((const float *)(const void *)(p), count))
#define STORE_PART_S32(p, v, count) STORE_PART((float *)(void *)(p), OF_BITS(v), count)
#define MUL_S32(a, b) vmulq_s32(a, b)
#define MIN_S32(a, b) vminq_s32(a, b)
#define MAX_S32(a, b) vmaxq_s32(a, b)
#define TRUNCATED(v) vcvtq_s32_f32(v)

/* NEON has only shifts to the left; negative numbers shift to the right. */
#define BITS int32x4_t
#define SPLAT_BITS(bits) vdupq_n_s32(-(bits))
#define SHIFT_RIGHT_BY(v, bits) vshlq_s32(v, bits)

static inline uint8x8_t BYTES_PART(const void *p, int64_t count) {
    uint32_t bytes = 0;
    memcpy(&bytes, p, (size_t)count);
    return vreinterpret_u8_u32(vdup_n_u32(bytes));
}
__attribute__((always_inline)) static inline int32x4_t WIDEN_EACH(uint8x8_t bytes,
                                                                  const bool is_signed) {
    if (is_signed) return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(bytes))));
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(bytes))));
}
#define WIDEN(p, is_signed) WIDEN_EACH(BYTES_PART(p, LANES), is_signed)
#define WIDEN_PART(p, count, is_signed) WIDEN_EACH(BYTES_PART(p, count), is_signed)
#define WIDEN_BYTE(p, is_signed) WIDEN_EACH(vdup_n_u8((uint8_t)*(p)), is_signed)
static inline void NARROW_PART(void *p, int32x4_t v, int64_t count) {
    const int16x4_t words = vmovn_s32(v);
    const int8x8_t low = vmovn_s16(vcombine_s16(words, words));
    const uint32_t bytes = vget_lane_u32(vreinterpret_u32_s8(low), 0);
    memcpy(p, &bytes, (size_t)count);
}
#define NARROW(p, v) NARROW_PART(p, v, LANES)

__attribute__((always_inline)) static inline int32x4_t ADD_GROUPS(int32x4_t sum, const uint8_t *p,
                                                                  const bool is_signed) {
    const uint8x16_t bytes = vld1q_u8(p);
    if (is_signed) return vpadalq_s16(sum, vpaddlq_s8(vreinterpretq_s8_u8(bytes)));
    return vreinterpretq_s32_u32(vpadalq_u16(vreinterpretq_u32_s32(sum), vpaddlq_u8(bytes)));
}
#define ADD_GROUPS ADD_GROUPS
#define SUM_OF_S32(v) vaddvq_s32(v)

static inline int32x4_t LESS_ONE(int32x4_t v, int32x4_t x, int32x4_t limit) {
    return vaddq_s32(v, vreinterpretq_s32_u32(vcltq_s32(x, limit)));
}

#define SPLAT_S64(x) vreinterpretq_s32_s64(vdupq_n_s64(x))
static inline int32x4_t HIGH_MUL_ADD(int32x4_t v, int32x4_t factor, int32x4_t addend) {
    const int32x2_t low = vget_low_s32(factor);
    const int64x2_t add = vreinterpretq_s64_s32(addend);
    const int64x2_t first = vmlal_lane_s32(add, vget_low_s32(v), low, 0);
    const int64x2_t second = vmlal_high_lane_s32(add, v, low, 0);
    return vuzp2q_s32(vreinterpretq_s32_s64(first), vreinterpretq_s32_s64(second));
}

enum { JOINED = 4, LANES_U8 = 16 };
#define VECTOR_U8 uint8x16_t
#define SPLAT_U8(x) vdupq_n_u8((uint8_t)(x))
#define LOAD_U8(p) vld1q_u8(p)
#define STORE_U8(p, v) vst1q_u8(p, v)
#define XOR_U8(a, b) veorq_u8(a, b)
__attribute__((always_inline)) static inline uint8x16_t JOIN_WORDS(int16x8_t a, int16x8_t b,
                                                                   const bool is_signed) {
    if (is_signed) return vreinterpretq_u8_s8(vqmovn_high_s16(vqmovn_s16(a), b));
    return vqmovun_high_s16(vqmovun_s16(a), b);
}
__attribute__((always_inline)) static inline uint8x16_t JOIN(const int32x4_t v[JOINED],
                                                             const bool is_signed) {
    return JOIN_WORDS(vqmovn_high_s32(vqmovn_s32(v[0]), v[1]),
                      vqmovn_high_s32(vqmovn_s32(v[2]), v[3]), is_signed);
}
__attribute__((always_inline)) static inline uint8x16_t MAX_U8(uint8x16_t a, uint8x16_t b,
                                                               const bool is_signed) {
    if (!is_signed) return vmaxq_u8(a, b);
    return vreinterpretq_u8_s8(vmaxq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)));
}
__attribute__((always_inline)) static inline uint8x16_t
CLAMP_U8(uint8x16_t v, uint8x16_t low, uint8x16_t high, const bool is_signed) {
    const int8x16_t least = vreinterpretq_s8_u8(low), most = vreinterpretq_s8_u8(high);
    if (is_signed)
        return vreinterpretq_u8_s8(vminq_s8(vmaxq_s8(vreinterpretq_s8_u8(v), least), most));
    return vminq_u8(vmaxq_u8(v, low), high);
}

#define VECTOR_S16 int16x8_t
#define SPLAT_S16(x) vdupq_n_s16((int16_t)(x))
enum { LANES_S16 = 8 };
#define ADD_S16(a, b) vaddq_s16(a, b)
#define SUB_S16(a, b) vsubq_s16(a, b)
#define SHIFT_LEFT_S16(a, bits) vshlq_n_s16(a, bits)
#define WIDEN_S16(p) vmovl_s8(vld1_s8(p))
#define STORE_S16(p, v) vst1q_s16(p, v)
__attribute__((always_inline)) static inline uint8x16_t
JOIN_UPPER(const int32x4_t v[JOINED], int16x8_t words, const bool is_signed) {
    const int16x8_t a = vuzp2q_s16(vreinterpretq_s16_s32(v[0]), vreinterpretq_s16_s32(v[1]));
    const int16x8_t b = vuzp2q_s16(vreinterpretq_s16_s32(v[2]), vreinterpretq_s16_s32(v[3]));
    return JOIN_WORDS(vqaddq_s16(a, words), vqaddq_s16(b, words), is_signed);
}

static inline bool ANY_LOWER_BELOW(const int32x4_t v[JOINED], int32x4_t bits) {
    const uint16x8_t a = vminq_u16(vreinterpretq_u16_s32(v[0]), vreinterpretq_u16_s32(v[1]));
    const uint16x8_t b = vminq_u16(vreinterpretq_u16_s32(v[2]), vreinterpretq_u16_s32(v[3]));
    const uint32x4_t least = vreinterpretq_u32_u16(vminq_u16(a, b));
    return vminvq_u32(vandq_u32(least, vreinterpretq_u32_s32(bits))) == 0;
}

#ifdef __aarch64__ /* not every other compiler knows these */
#define LOAD_F16(p) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))
static inline void STORE_F16(uint16_t *p, float32x4_t v) {
    const uint16x4_t nan = vmvn_u16(vmovn_u32(vceqq_f32(v, v)));
    const uint16x4_t payload = vand_u16(nan, vdup_n_u16(0x01FF));
    vst1_u16(p, vbic_u16(vreinterpret_u16_f16(vcvt_f16_f32(v)), payload));
}
#endif

#endif
