/* scale_s32.c -- scale_s32 in the words of a level. */
#include "simd/words.h"

#define INLINE __attribute__((always_inline)) static inline

INLINE VECTOR product(VECTOR sum, VECTOR weight, VECTOR scale, const bool weights_first) {
    return weights_first ? MUL(MUL(sum, weight), scale) : MUL(sum, MUL(scale, weight));
}

INLINE void scale_row(const ml_scale_s32_args *p, int64_t row, const float *bias,
                      const bool weights_first) {
    const int32_t *sums = p->sums + row * p->sums_stride;
    const float *weights = p->weights;
    float *y = p->y + row * p->y_stride;
    const VECTOR scale = SPLAT(p->scales[row]), low = SPLAT(p->low), high = SPLAT(p->high);
    const int64_t n = p->n;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const VECTOR v =
            product(FLOATS(LOAD_S32(sums + i)), LOAD(weights + i), scale, weights_first);
        STORE(y + i, MIN(high, MAX(low, ADD(bias ? LOAD(bias + i) : SPLAT(0.0f), v))));
    }
    const int64_t left = n - i;
    if (!left) return;
    const VECTOR v = product(FLOATS(LOAD_PART_S32(sums + i, left)), LOAD_PART(weights + i, left),
                             scale, weights_first);
    const VECTOR start = bias ? LOAD_PART(bias + i, left) : SPLAT(0.0f);
    STORE_PART(y + i, MIN(high, MAX(low, ADD(start, v))), left);
}

void ML_VARIANT(scale_s32)(const ml_scale_s32_args *args) {
    const ml_scale_s32_args p = *args; /* a copy, which stores do not change */
    for (int64_t row = 0; row < p.rows; row++)
        if (p.bias && p.weights_first) scale_row(&p, row, p.bias, true);
        else if (p.bias) scale_row(&p, row, p.bias, false);
        else if (p.weights_first) scale_row(&p, row, NULL, true);
        else scale_row(&p, row, NULL, false);
}
