/* matmul_f32.c -- tiles of 5 rows times two panels of two vectors: 20 sums, 4 vectors of weights
 * and four values of each row, which FMLA takes by lanes. On 32-bit Arm, whose VFMA takes no lanes,
 * and with half the registers, 5 rows times one panel. */
#include "simd/words.h"

#ifdef __aarch64__
#define TILES(X)                                                                          \
    X(1, 4) X(1, 2) X(1, 1) X(2, 4) X(2, 2) X(2, 1) X(3, 2) X(3, 1) X(4, 2) X(4, 1)       \
    X(5, 2) X(5, 1)
enum { MOST_LANED = 12 /* rows of half a panel */ };

#define ADD_LANES(a, a_stride, w, panel_floats, count, rows, vectors, sums) \
    add_lanes(a, a_stride, w, panel_floats, count, rows, vectors, sums)

/* One step of k, of `some` neighbouring vectors of a panel. Written as instructions, because
 * compilers copy the lane that two products share to a register of its own, which sums then
 * lack. */
#define ADD_STEP(panel, some, lane)                                                            \
    {                                                                                          \
        const float *at = (panel) + (lane) * PANEL_F32;                                            \
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
    for (int64_t fours = count / LANES; fours > 0; fours--, w += LANES * PANEL_F32) {
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
#else
#define TILES(X) X(1, 4) X(1, 2) X(1, 1) X(2, 2) X(2, 1) X(3, 1) X(4, 1) X(5, 1)
#endif

#include "simd/tiles/matmul_f32.h"

void ml_matmul_f32_neon(const ml_matmul_f32_args *p) { multiply(p); }
