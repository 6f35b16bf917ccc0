/* matmul_s8.c -- the plain meaning of matmul_s8. */
#include "simd/variants.h"

/* Multiplies a piece of a row by the weights of one output, whose groups lie `step` bytes apart. */
static uint32_t dot(const uint8_t *a, int32_t flip, int64_t k, const int8_t *w, int64_t step) {
    uint32_t sum = 0;
    int64_t j = 0;
    for (; j + 4 <= k; j += 4, w += step)
        for (int64_t i = 0; i < 4; i++) sum += (uint32_t)((a[j + i] ^ flip) * w[i]);
    if (j == k) return sum;
    if (k >= 4) j = k - 4;
    for (int64_t i = 0; j + i < k; i++) sum += (uint32_t)((a[j + i] ^ flip) * w[i]);
    return sum;
}

void ml_matmul_s8_scalar(const ml_matmul_s8_args *p) {
    const int64_t piece_bytes = ml_round_up(p->k, 4);
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t panel = i / ML_PANEL_S8 * ML_PANEL_S8, width = ml_width_s8(p->n, panel);
        const int8_t *w = p->packed + panel * p->pieces * piece_bytes + (i - panel) * 4;
        for (int64_t r = 0; r < p->rows; r++) {
            const uint8_t *a = p->a + r * p->a_stride;
            uint32_t sum = p->bias ? (uint32_t)p->bias[i] : 0;
            if (p->factors) sum += (uint32_t)p->factors[r] * (uint32_t)p->columns[i];
            for (int64_t piece = 0; piece < p->pieces; piece++)
                sum += dot(a + piece * p->piece_stride, p->flip, p->k,
                           w + piece * piece_bytes * width, 4 * width);
            p->y[r * p->y_stride + i] = (int32_t)sum;
        }
    }
}
