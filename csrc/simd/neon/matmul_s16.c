/* matmul_s16.c -- matmul_s16 by SMLAL: a tile is four rows times a panel, whose weights are read
 * once, the two inputs of a pair apart. */
#include "simd/neon/intrinsics.h"
#include "simd/variants.h"

enum { ROWS = 4, VECTORS = ML_PANEL_S16 / 4 };
#define INLINE __attribute__((always_inline)) static inline

/* Adds the products of one input of each row, lane `lane` of a. */
#define ADD_INPUT(lane, low, high)                                        \
    do {                                                                  \
        sums[0] = vmlal_lane_s16(sums[0], vget_low_s16(low), a, lane);    \
        sums[1] = vmlal_lane_s16(sums[1], vget_high_s16(low), a, lane);   \
        sums[2] = vmlal_lane_s16(sums[2], vget_low_s16(high), a, lane);   \
        sums[3] = vmlal_lane_s16(sums[3], vget_high_s16(high), a, lane);  \
    } while (0)

INLINE int16x4_t pair(const int16_t *a) {
    int32_t both;
    __builtin_memcpy(&both, a, sizeof both);
    return vreinterpret_s16_s32(vdup_n_s32(both));
}

INLINE void add_pair(int16x4_t a, int16x8x2_t low, int16x8x2_t high, int32x4_t *sums) {
    ADD_INPUT(0, low.val[0], high.val[0]);
    ADD_INPUT(1, low.val[1], high.val[1]);
}

INLINE void multiply_rows(const int16_t *a, int64_t k, const int16_t *w, int32_t *y, int64_t n,
                          const int rows) {
    int32x4_t sums[ROWS * VECTORS];
    ML_UNROLL(16)
    for (int i = 0; i < rows * VECTORS; i++) sums[i] = vdupq_n_s32(0);
    for (int64_t j = 0; j < k; j += 2, w += 2 * ML_PANEL_S16) {
        const int16x8x2_t low = vld2q_s16(w), high = vld2q_s16(w + ML_PANEL_S16);
        ML_UNROLL(4)
        for (int r = 0; r < rows; r++) add_pair(pair(a + r * k + j), low, high, sums + r * VECTORS);
    }
    ML_UNROLL(4)
    for (int r = 0; r < rows; r++) ML_UNROLL(4)
    for (int v = 0; v < VECTORS; v++) vst1q_s32(y + r * n + v * 4, sums[r * VECTORS + v]);
}

INLINE void multiply(const ml_matmul_s16_args *p, int64_t i, int64_t row, int64_t o,
                     const int rows) {
    multiply_rows(p->a + i * p->a_step + row * p->k, p->k, p->packed + (i * p->n + o) * p->k,
                  p->y + i * p->y_step + row * p->n + o, p->n, rows);
}

void ml_matmul_s16_neon(const ml_matmul_s16_args *args) {
    const ml_matmul_s16_args p = *args;
    for (int64_t i = 0; i < p.products; i++)
        for (int64_t o = 0; o < p.n; o += ML_PANEL_S16) {
            int64_t row = 0;
            for (; row + ROWS <= p.rows; row += ROWS) multiply(&p, i, row, o, ROWS);
            if (row + 2 <= p.rows) multiply(&p, i, row, o, 2), row += 2;
            if (row < p.rows) multiply(&p, i, row, o, 1);
        }
}
