/* sum_weights.h -- the sums of outputs' packed weights, for callers that do not give them. */
#include "simd/simd.h"

/* Sums of packed weights of up to ML_PANEL_S8 outputs, the first of a panel. */
static void sum_weights(const ml_matmul_s8_args *p, int64_t output, int32_t *sums) {
    const int64_t groups = p->pieces * ml_ceil_div(p->k, GROUP);
    const int64_t width = ml_width_s8(p->n, output), count = p->n - output;
    const int8_t *w = p->packed + output * groups * GROUP;
    for (int64_t i = 0; i < width && i < count; i += LANES) {
        int32x4_t sum = vdupq_n_s32(0);
        for (int64_t j = 0; j < groups; j++)
            sum = vpadalq_s16(sum, vpaddlq_s8(vld1q_s8(w + (j * width + i) * GROUP)));
        for (int64_t lane = 0; lane < LANES && i + lane < count; lane++)
            sums[i + lane] = ((int32_t *)&sum)[lane];
    }
}
