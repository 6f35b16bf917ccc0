/* matmul_f32.c -- tiles of 6 rows times two panels of two vectors: 24 sums, 4 vectors of
 * weights and a value of a row. */
#include <arm_neon.h>
#include <stdbool.h>

#include "simd/variants.h"

#define VECTOR float32x4_t
#define LANES 4
#define ROWS ML_ROWS_F32_neon
#define PANEL ML_PANEL_F32_neon
#define TILES(X)                                                                          \
    X(1, 4) X(1, 2) X(1, 1) X(2, 4) X(2, 2) X(2, 1) X(3, 2) X(3, 1) X(4, 2) X(4, 1)       \
    X(5, 2) X(5, 1) X(6, 2) X(6, 1)

#define ZERO() vdupq_n_f32(0.0f)
#define BROADCAST(x) vdupq_n_f32(x)
#define LOAD(p) vld1q_f32(p)
#define LOAD_PART(p, count) load_part(p, count)
#define STORE(p, v) vst1q_f32(p, v)
#define STORE_PART(p, v, count) store_part(p, v, count)
#define MULTIPLY_ADD(a, b, sum) vfmaq_f32(sum, a, b)
#define ADD(a, b) vaddq_f32(a, b)
#define MAX(limit, v) vmaxq_f32(limit, v)
#define MIN(limit, v) vminq_f32(limit, v)

static inline float32x4_t load_part(const float *p, int count) {
    const float lanes[4] = {p[0], count > 1 ? p[1] : 0, count > 2 ? p[2] : 0, 0};
    return vld1q_f32(lanes);
}

static inline void store_part(float *p, float32x4_t v, int count) {
    vst1q_lane_f32(p, v, 0);
    if (count > 1) vst1q_lane_f32(p + 1, v, 1);
    if (count > 2) vst1q_lane_f32(p + 2, v, 2);
}

#include "simd/tiles/matmul_f32.h"

void ml_matmul_f32_neon(const ml_matmul_f32_args *p) { multiply(p); }
