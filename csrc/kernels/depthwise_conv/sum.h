/* sum.h -- depthwise sums of floats, which bytes use as well: a tap is a product of vectors over the outputs. */
#ifndef ML_KERNELS_DEPTHWISE_SUM_H
#define ML_KERNELS_DEPTHWISE_SUM_H

#include "kernels/depthwise_conv/depthwise_conv.h"

enum { ML_DEPTHWISE_CHUNK = 16 };

typedef float ml_depthwise_v4 __attribute__((vector_size(16), aligned(4)));

/* sums[j] = sum over the window of x * filter, outputs first .. first + 4 * vectors - 1; `vectors` is a constant. */
__attribute__((always_inline)) static inline void
ml_depthwise_sum_vectors(const depthwise_source *s, int64_t first, const int vectors, float *sums) {
    ml_depthwise_v4 sum[ML_DEPTHWISE_CHUNK / 4] = {0};
    for (int64_t ky = s->down.first; ky < s->down.end; ky++) {
        const float *x = s->x + ky * s->line_step + s->across.first * s->tap_step + first;
        const float *w = s->filter + ky * s->filter_step + s->across.first * s->outputs + first;
        for (int64_t kx = s->across.first; kx < s->across.end;
             kx++, x += s->tap_step, w += s->outputs) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                sum[v] +=
                    *(const ml_depthwise_v4 *)(x + 4 * v) * *(const ml_depthwise_v4 *)(w + 4 * v);
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) *(ml_depthwise_v4 *)(sums + 4 * v) = sum[v];
}

/* sums[o] = sum over the window of x * filter, of all outputs. */
static inline void ml_depthwise_sum(const depthwise_source *s, float *sums) {
    int64_t first = 0;
    for (; first + ML_DEPTHWISE_CHUNK <= s->outputs; first += ML_DEPTHWISE_CHUNK)
        ml_depthwise_sum_vectors(s, first, ML_DEPTHWISE_CHUNK / 4, sums + first);
    for (; first + 4 <= s->outputs; first += 4) ml_depthwise_sum_vectors(s, first, 1, sums + first);
    for (; first < s->outputs; first++) {
        float sum = 0.0f;
        for (int64_t ky = s->down.first; ky < s->down.end; ky++)
            for (int64_t kx = s->across.first; kx < s->across.end; kx++)
                sum += s->x[ky * s->line_step + kx * s->tap_step + first] *
                       s->filter[ky * s->filter_step + kx * s->outputs + first];
        sums[first] = sum;
    }
}

#endif
