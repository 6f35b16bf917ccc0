/* vector_neon.h -- vectors of four floats, in the words of vector_avx512.h: what every aarch64
 * has. */
#ifndef ML_SIMD_VECTOR_NEON_H
#define ML_SIMD_VECTOR_NEON_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 4 };
#define VECTOR float32x4_t
#define MASKED 0
#define MASK uint32x4_t
#define LOAD(p) vld1q_f32(p)
#define STORE(p, v) vst1q_f32(p, v)
static inline float32x4_t LOAD_PART_OR(const float *p, int64_t count, float32x4_t other) {
    float lanes[4];
    vst1q_f32(lanes, other);
    memcpy(lanes, p, (size_t)count * sizeof *p);
    return vld1q_f32(lanes);
}
#define LOAD_PART(p, count) LOAD_PART_OR(p, count, vdupq_n_f32(0.0f))
static inline void STORE_PART(float *p, float32x4_t v, int64_t count) {
    float lanes[4];
    vst1q_f32(lanes, v);
    memcpy(p, lanes, (size_t)count * sizeof *p);
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
/* fmax and fmaxnm take NaN from either side, or from none. */
static inline float32x4_t MAX(float32x4_t a, float32x4_t b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
static inline float32x4_t MIN(float32x4_t a, float32x4_t b) {
    return vbslq_f32(vcltq_f32(a, b), a, b);
}
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
/* NaN becomes 0. */
#define NEAREST_S32(a) vcvtnq_s32_f32(a)
#define BITS_OF(a) vreinterpretq_s32_f32(a)
#define OF_BITS(a) vreinterpretq_f32_s32(a)

#include "vector_bits.h"

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

#endif
