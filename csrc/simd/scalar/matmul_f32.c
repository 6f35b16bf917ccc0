/* matmul_f32.c -- the plain meaning of matmul_f32; panels of one column are the weights in the
 * order of the file. */
#include "simd/variants.h"

static float dot(const ml_matmul_f32_args *p, const float *a, const float *w) {
    float total = 0, sum = 0;
    int64_t terms = 0;
    for (int64_t piece = 0; piece < p->pieces; piece++)
        for (int64_t j = 0; j < p->k; j++) {
            sum += a[piece * p->piece_stride + j] * *w++;
            if (++terms % ML_CHUNK_F32 == 0) {
                total += sum;
                sum = 0;
            }
        }
    return total + sum;
}

void ml_matmul_f32_scalar(const ml_matmul_f32_args *p) {
    const int64_t panel = p->packed_k ? p->packed_k : p->pieces * p->k;
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t i = 0; i < p->n; i++) {
            float v = dot(p, p->a + r * p->a_stride, p->packed + i * panel);
            if (p->bias) v += p->bias[i];
            v = v < p->low ? p->low : v;
            p->y[r * p->y_stride + i] = v > p->high ? p->high : v;
        }
}
