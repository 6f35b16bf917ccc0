/* depthwise_s8.c -- pairs of int16, four channels at a time. */
#include <arm_neon.h>
#include <stdbool.h>
#include <string.h>

#include "simd/variants.h"

#define VECTOR int32x4_t
#define ELEMENT int32_t
#define REGISTER "w"
#define LANES 4
#define MASKS false

#define ZERO() vdupq_n_s32(0)
#define LOAD(p) vld1q_s32((const int32_t *)(const void *)(p))
#define LOAD_PART(p, count) load_part(p, count)
#define STORE(p, v) vst1q_s32(p, v)
#define STORE_PART(p, v, count) store_part(p, v, count)
#define MULTIPLY_ADD(x, w, sum) add_pairs(vreinterpretq_s16_s32(x), vreinterpretq_s16_s32(w), sum)
#define ADD(a, b) vaddq_s32(a, b)
#define FINISH(p, v) (v)

static inline int32x4_t load_part(const void *p, int count) {
    int32_t lanes[LANES] = {0};
    memcpy(lanes, p, (size_t)count * sizeof *lanes);
    return vld1q_s32(lanes);
}

static inline void store_part(int32_t *p, int32x4_t v, int count) {
    int32_t lanes[LANES];
    vst1q_s32(lanes, v);
    memcpy(p, lanes, (size_t)count * sizeof *lanes);
}

static inline int32x4_t add_pairs(int16x8_t x, int16x8_t w, int32x4_t sum) {
    const int32x4_t first = vmull_s16(vget_low_s16(x), vget_low_s16(w));
    return vaddq_s32(sum, vpaddq_s32(first, vmull_high_s16(x, w)));
}

#include "simd/tiles/depthwise.h"

void ml_depthwise_s8_neon(const ml_depthwise_args *p) { run_tiles(p, NULL); }
