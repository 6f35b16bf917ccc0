/* matmul_s4.c -- the plain meaning of matmul_s4. */
#include "simd/variants.h"

static uint32_t dot(const ml_matmul_s8_args *p, const uint8_t *a, int64_t output) {
    const uint8_t *panel =
        (const uint8_t *)p->packed + output / ML_PANEL_S4 * ML_PANEL_S4 / 2 * p->k;
    uint32_t sum = 0;
    for (int64_t j = 0; j < p->k; j++) {
        const uint8_t two = panel[(j / 8 * ML_PANEL_S4 + output % ML_PANEL_S4) * 4 + j % 4];
        const int32_t weight = (j % 8 < 4 ? two & 15 : two >> 4) - 8;
        sum += (uint32_t)((a[j] ^ p->flip) * weight);
    }
    return sum;
}

void ml_matmul_s4_scalar(const ml_matmul_s8_args *p) {
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t i = 0; i < p->n; i++) {
            uint32_t sum = dot(p, p->a + r * p->a_stride, i);
            if (p->bias) sum += (uint32_t)p->bias[i];
            if (p->factors) sum += (uint32_t)p->factors[r] * (uint32_t)p->columns[i];
            p->y[r * p->y_stride + i] = (int32_t)sum;
        }
}
