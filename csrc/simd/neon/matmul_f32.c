/* matmul_f32.c -- tiles of 5 rows times two panels of two vectors: 20 sums, 4 vectors of weights
 * and four values of each row, which FMLA takes by lanes. On 32-bit Arm, whose VFMA takes no lanes,
 * and with half the registers, 5 rows times one panel. */
#include "simd/neon/intrinsics.h"
#include <stdbool.h>

#include "simd/variants.h"

#define VECTOR float32x4_t
#define LANES 4
#define ROWS 5
#define PANEL 8
#ifdef __aarch64__
#define TILES(X)                                                                          \
    X(1, 4) X(1, 2) X(1, 1) X(2, 4) X(2, 2) X(2, 1) X(3, 2) X(3, 1) X(4, 2) X(4, 1)       \
    X(5, 2) X(5, 1)
#else
#define TILES(X) X(1, 4) X(1, 2) X(1, 1) X(2, 2) X(2, 1) X(3, 1) X(4, 1) X(5, 1)
#endif

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

#ifdef __aarch64__
enum { MOST_LANED = 12 /* rows of half a panel */ };

#define ADD_LANES(a, a_stride, w, panel_floats, count, rows, vectors, sums) \
    add_lanes(a, a_stride, w, panel_floats, count, rows, vectors, sums)

/* One step of k, of `some` neighbouring vectors of a panel. Written as instructions, because
 * compilers copy the lane that two products share to a register of its own, which sums then
 * lack. */
#define ADD_STEP(panel, some, lane)                                                            \
    {                                                                                          \
        const float *at = (panel) + (lane) * PANEL;                                            \
        float32x4_t weights[2] = {vld1q_f32(at)};                                              \
        if ((some) == 2) weights[1] = vld1q_f32(at + LANES);                                   \
        if ((some) == 2 && rows == 1) { /* one load of both, as compilers do for more */       \
            const float32x4x2_t both = vld1q_f32_x2(at);                                       \
            weights[0] = both.val[0], weights[1] = both.val[1];                                \
        }                                                                                      \
        ML_UNROLL(10) for (int r = 0; r < rows; r++) ML_UNROLL(2) for (int i = 0; i < (some); i++) { \
            float32x4_t *sum = &sums[r * vectors + v + i];                                     \
            __asm__ volatile("fmla %0.4s, %1.4s, %2.s[" #lane "]"                              \
                             : "+w"(*sum)                                                      \
                             : "w"(weights[i]), "w"(x[r]));                                    \
        }                                                                                      \
    }
#define ADD_STEPS(panel, some)                                                                 \
    ADD_STEP(panel, some, 0) ADD_STEP(panel, some, 1) ADD_STEP(panel, some, 2) ADD_STEP(panel, some, 3)

/* Reads four values of a row, and moves the row on. */
__attribute__((always_inline)) static inline float32x4_t next_four(const float **row) {
    const float *a = *row;
    float32x4_t x;
    __asm__("ldr %q0, [%1], #16" : "=w"(x), "+r"(*row) : "m"(*(const float (*)[LANES])a));
    return x;
}

/* Four steps of k at a time, as long as there are so many; returns how many steps. */
__attribute__((always_inline)) static inline int64_t
add_lanes(const float *a, int64_t a_stride, const float *w, int64_t panel_floats, int64_t count,
          const int rows, const int vectors, float32x4_t *sums) {
    const float *from[MOST_LANED];
    ML_UNROLL(10)
    for (int r = 0; r < rows; r++) from[r] = a + r * a_stride;
    for (int64_t fours = count / LANES; fours > 0; fours--, w += LANES * PANEL) {
        float32x4_t x[MOST_LANED];
        ML_UNROLL(10)
        for (int r = 0; r < rows; r++) x[r] = next_four(&from[r]);
        const float *panel = w;
        ML_UNROLL(4)
        for (int v = 0; v < vectors; v += 2, panel += panel_floats) {
            if (v + 1 == vectors) { /* half a panel */
                ADD_STEPS(panel, 1)
            } else {
                ADD_STEPS(panel, 2)
            }
        }
    }
    return count & -LANES;
}
#endif

#include "simd/tiles/matmul_f32.h"

void ml_matmul_f32_neon(const ml_matmul_f32_args *p) { multiply(p); }
