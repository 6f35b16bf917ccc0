/* depthwise_f32.c -- tiles of 8 pixels times 4 channels. */
#include <arm_neon.h>
#include <stdbool.h>
#include <string.h>

#include "simd/variants.h"

#define VECTOR float32x4_t
#define ELEMENT float
#define REGISTER "w"
#define LANES 4
#define MASKS false

#define ZERO() vdupq_n_f32(0.0f)
#define LOAD(p) vld1q_f32((const float *)(const void *)(p))
#define LOAD_PART(p, count) load_part(p, count)
#define STORE(p, v) vst1q_f32(p, v)
#define STORE_PART(p, v, count) store_part(p, v, count)
#define MULTIPLY_ADD(x, w, sum) multiply_add(x, w, sum)
#define LOAD_NEXT(value, x, step)               \
    __asm__("ld1 {%0.4s}, [%1], %2"             \
            : "=w"(value), "+r"(x)              \
            : "r"(step), "m"(*(const float (*)[LANES])(const void *)(x)))
#define ADD(a, b) vaddq_f32(a, b)
#define FINISH(p, v) finish(v, vdupq_n_f32((p)->low), vdupq_n_f32((p)->high))

/* In the register of the sum: the empty asm keeps the compiler from moving it. */
static inline float32x4_t multiply_add(float32x4_t x, float32x4_t w, float32x4_t sum) {
    sum = vfmaq_f32(sum, x, w);
    __asm__ volatile("" : "+w"(sum));
    return sum;
}

static inline float32x4_t load_part(const void *p, int count) {
    float lanes[LANES] = {0};
    memcpy(lanes, p, (size_t)count * sizeof *lanes);
    return vld1q_f32(lanes);
}

static inline void store_part(float *p, float32x4_t v, int count) {
    float lanes[LANES];
    vst1q_f32(lanes, v);
    memcpy(p, lanes, (size_t)count * sizeof *lanes);
}

/* NaN passes on, as fmax and fmin have it. */
static inline float32x4_t finish(float32x4_t v, float32x4_t low, float32x4_t high) {
    return vminq_f32(high, vmaxq_f32(low, v));
}

#include "simd/tiles/depthwise.h"

void ml_depthwise_f32_neon(const ml_depthwise_args *p) { run_tiles(p, NULL); }
