/* scale_s32.c -- the plain meaning of scale_s32. */
#include "simd/variants.h"

void ml_scale_s32_scalar(const ml_scale_s32_args *p) {
    for (int64_t r = 0; r < p->rows; r++) {
        const int32_t *sums = p->sums + r * p->sums_stride;
        float *y = p->y + r * p->y_stride;
        for (int64_t i = 0; i < p->n; i++) {
            const float sum = (float)sums[i], scale = p->scales[r];
            float v =
                p->weights_first ? sum * p->weights[i] * scale : sum * (scale * p->weights[i]);
            v = (p->bias ? p->bias[i] : 0.0f) + v;
            v = v < p->low ? p->low : v;
            y[i] = v > p->high ? p->high : v;
        }
    }
}
