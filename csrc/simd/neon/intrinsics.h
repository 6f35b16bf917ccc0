/* intrinsics.h -- the vector instructions of Arm by their usual names, for the files of level neon.
 * They are written for aarch64. On 32-bit Arm the names that only aarch64 has are defined as
 * a few instructions with the same result. */
#ifndef ML_SIMD_NEON_INTRINSICS_H
#define ML_SIMD_NEON_INTRINSICS_H

#include <arm_neon.h>

/* The upper half. On 32-bit Arm a lane of 64 bits has to be aligned, and bytes need not be. */
#ifdef __aarch64__
#define STORE_HIGH_U8(p, v) vst1q_lane_u64((uint64_t *)(void *)(p), vreinterpretq_u64_u8(v), 1)
#else
#define STORE_HIGH_U8(p, v) vst1_u8(p, vget_high_u8(v))
#endif

#ifndef __aarch64__
#include <math.h>

/* Pixels of a tile of tiles/depthwise.h: there are 16 vector registers, not 32. */
#define MOST_PIXELS 4

#define ML_NAMED static inline __attribute__((always_inline))

/* Combines all lanes, neighbours first. */
#define ML_COMBINED(op, kind, type)                                                        \
    ML_NAMED type##_t v##op##vq_##kind(type##x4_t v) {                                     \
        const type##x2_t x = vp##op##_##kind(vget_low_##kind(v), vget_high_##kind(v));     \
        return vget_lane_##kind(vp##op##_##kind(x, x), 0);                                 \
    }
ML_COMBINED(add, f32, float32)
ML_COMBINED(max, f32, float32)
ML_COMBINED(min, f32, float32)
ML_COMBINED(add, s32, int32)
ML_COMBINED(max, s32, int32)
ML_COMBINED(add, u32, uint32)
ML_COMBINED(max, u32, uint32)
ML_COMBINED(min, u32, uint32)
ML_NAMED uint8_t vmaxvq_u8(uint8x16_t v) {
    uint8x8_t x = vpmax_u8(vget_low_u8(v), vget_high_u8(v));
    x = vpmax_u8(x, x);
    x = vpmax_u8(x, x);
    return vget_lane_u8(vpmax_u8(x, x), 0);
}

/* Adds neighbours of both vectors. */
ML_NAMED int32x4_t vpaddq_s32(int32x4_t a, int32x4_t b) {
    return vcombine_s32(vpadd_s32(vget_low_s32(a), vget_high_s32(a)),
                        vpadd_s32(vget_low_s32(b), vget_high_s32(b)));
}
ML_NAMED uint32x4_t vpaddq_u32(uint32x4_t a, uint32x4_t b) {
    return vcombine_u32(vpadd_u32(vget_low_u32(a), vget_high_u32(a)),
                        vpadd_u32(vget_low_u32(b), vget_high_u32(b)));
}

/* The upper half of a vector. */
#define vmovl_high_s32(v) vmovl_s32(vget_high_s32(v))
#define vmovl_high_u32(v) vmovl_u32(vget_high_u32(v))
#define vmovl_high_s8(v) vmovl_s8(vget_high_s8(v))
#define vmovl_high_u8(v) vmovl_u8(vget_high_u8(v))
#define vmull_high_s8(a, b) vmull_s8(vget_high_s8(a), vget_high_s8(b))
#define vmlal_high_s16(sum, a, b) vmlal_s16(sum, vget_high_s16(a), vget_high_s16(b))
#define vmlal_high_s8(sum, a, b) vmlal_s8(sum, vget_high_s8(a), vget_high_s8(b))
#define vabal_high_s16(sum, a, b) vabal_s16(sum, vget_high_s16(a), vget_high_s16(b))
#define vaddw_high_s16(sum, a) vaddw_s16(sum, vget_high_s16(a))
#define vmlal_high_lane_s32(sum, a, b, lane) vmlal_lane_s32(sum, vget_high_s32(a), b, lane)
#define vmovn_high_s16(low, v) vcombine_s8(low, vmovn_s16(v))
#define vmovn_high_s32(low, v) vcombine_s16(low, vmovn_s32(v))
#define vqmovn_high_s16(low, v) vcombine_s8(low, vqmovn_s16(v))
#define vqmovn_high_u16(low, v) vcombine_u8(low, vqmovn_u16(v))
#define vqmovn_high_s32(low, v) vcombine_s16(low, vqmovn_s32(v))
#define vqmovn_high_s64(low, v) vcombine_s32(low, vqmovn_s64(v))
#define vqmovun_high_s16(low, v) vcombine_u8(low, vqmovun_s16(v))
#define vdupq_laneq_u64(v, lane) vdupq_n_u64(vgetq_lane_u64(v, lane))

/* Every second lane of both, and lanes of both in turn. */
#define vuzp2q_s16(a, b) vuzpq_s16(a, b).val[1]
#define vuzp2q_s32(a, b) vuzpq_s32(a, b).val[1]
#define vzip1q_f32(a, b) vzipq_f32(a, b).val[0]
#define vzip2q_f32(a, b) vzipq_f32(a, b).val[1]

/* Bytes of a table of 16; 0 where the table has none. */
ML_NAMED uint8x16_t vqtbl1q_u8(uint8x16_t table, uint8x16_t at) {
    const uint8x8x2_t halves = {{vget_low_u8(table), vget_high_u8(table)}};
    return vcombine_u8(vtbl2_u8(halves, vget_low_u8(at)), vtbl2_u8(halves, vget_high_u8(at)));
}

/* Rounds to whole numbers; beyond 2^23 every float is one. */
ML_NAMED float32x4_t vrndnq_f32(float32x4_t v) {
    const float32x4_t most = vdupq_n_f32(8388608.0f);
    const uint32x4_t sign = vandq_u32(vreinterpretq_u32_f32(v), vdupq_n_u32(UINT32_C(1) << 31));
    const float32x4_t near = vsubq_f32(vaddq_f32(vabsq_f32(v), most), most);
    const uint32x4_t whole = vorrq_u32(vreinterpretq_u32_f32(near), sign);
    return vbslq_f32(vcltq_f32(vabsq_f32(v), most), vreinterpretq_f32_u32(whole), v);
}
#define vcvtnq_s32_f32(v) vcvtq_s32_f32(vrndnq_f32(v))
/* v, less 1 where the mask is set; zeros keep their sign. */
ML_NAMED float32x4_t ml_less_one(float32x4_t v, uint32x4_t where) {
    const uint32x4_t one = vreinterpretq_u32_f32(vdupq_n_f32(1.0f));
    return vsubq_f32(v, vreinterpretq_f32_u32(vandq_u32(where, one)));
}
ML_NAMED float32x4_t vrndmq_f32(float32x4_t v) {
    const float32x4_t near = vrndnq_f32(v);
    return ml_less_one(near, vcgtq_f32(near, v));
}
ML_NAMED float32x4_t vrndpq_f32(float32x4_t v) { return vnegq_f32(vrndmq_f32(vnegq_f32(v))); }

/* One lane after the other: vectors have only estimates. */
ML_NAMED float32x4_t vdivq_f32(float32x4_t a, float32x4_t b) { return a / b; }
ML_NAMED float32x4_t vsqrtq_f32(float32x4_t v) {
    for (int i = 0; i < 4; i++) v[i] = sqrtf(v[i]);
    return v;
}

/* Pairs of doubles. */
typedef struct float64x2_t {
    double of[2];
} float64x2_t;
ML_NAMED float64x2_t vld1q_f64(const double *p) { return (float64x2_t){{p[0], p[1]}}; }
ML_NAMED float64x2_t vmulq_f64(float64x2_t a, float64x2_t b) {
    return (float64x2_t){{a.of[0] * b.of[0], a.of[1] * b.of[1]}};
}
ML_NAMED float64x2_t vcvtq_f64_s64(int64x2_t v) { /* for numbers that int32 can hold */
    return (float64x2_t){{(int32_t)v[0], (int32_t)v[1]}};
}
/* Rounds half away from 0; numbers beyond int32 saturate. */
ML_NAMED int64_t ml_away(double x) {
    const double most = x < 2147483647.0 ? x : 2147483647.0;
    const double v = most > -2147483648.0 ? most : -2147483648.0;
    return (int32_t)(v < 0 ? v - 0.49999999999999994 : v + 0.49999999999999994);
}
ML_NAMED int64x2_t vcvtaq_s64_f64(float64x2_t v) {
    return (int64x2_t){ml_away(v.of[0]), ml_away(v.of[1])};
}
#endif

#endif
