/* matmul_s16.c -- matmul_s16, a pair of products at a time. */
#include "simd/variants.h"

static uint32_t product(const int16_t *a, const int16_t *w, int64_t k) {
    uint32_t sum = 0;
    for (int64_t j = 0; j < k; j++) sum += (uint32_t)(a[j] * w[j / 2 * (2 * ML_PANEL_S16) + j % 2]);
    return sum;
}

void ml_matmul_s16_scalar(const ml_matmul_s16_args *p) {
    for (int64_t i = 0; i < p->products; i++)
        for (int64_t row = 0; row < p->rows; row++)
            for (int64_t o = 0; o < p->n; o++) {
                const int16_t *w = p->packed + i * p->k * p->n +
                                   o / ML_PANEL_S16 * ML_PANEL_S16 * p->k + o % ML_PANEL_S16 * 2;
                p->y[i * p->y_step + row * p->n + o] =
                    (int32_t)product(p->a + i * p->a_step + row * p->k, w, p->k);
            }
}
