/* scale_s32.c -- scale_s32 in the words of a level. */
#include "simd/words.h"

enum { SCALED_VECTORS = 4 };

#define INLINE __attribute__((always_inline)) static inline

INLINE VECTOR product(VECTOR sum, VECTOR weight, VECTOR scale, const bool weights_first) {
    return weights_first ? MUL(MUL(sum, weight), scale) : MUL(sum, MUL(scale, weight));
}

/* Scales all rows of some vectors of outputs, or of the first `left` outputs of one vector, whose
 * weights and bias stay in registers. */
INLINE void scale_some(const ml_scale_s32_args *p, int64_t at, const int vectors, int64_t left,
                       const bool weights_first) {
    const bool part = vectors == 0;
    const int count = part ? 1 : vectors;
    const int32_t *sums = p->sums + at;
    float *y = p->y + at;
    const VECTOR low = SPLAT(p->low), high = SPLAT(p->high);
    VECTOR weights[SCALED_VECTORS], bias[SCALED_VECTORS];
    ML_UNROLL(4)
    for (int v = 0; v < count; v++) {
        const float *from = p->weights + at + v * LANES;
        weights[v] = part ? LOAD_PART(from, left) : LOAD(from);
        bias[v] = SPLAT(0.0f);
        if (!p->bias) continue;
        from = p->bias + at + v * LANES;
        bias[v] = part ? LOAD_PART(from, left) : LOAD(from);
    }
    for (int64_t row = 0; row < p->rows; row++, sums += p->sums_stride, y += p->y_stride) {
        const VECTOR scale = SPLAT(p->scales[row]);
        ML_UNROLL(4)
        for (int v = 0; v < count; v++) {
            const int32_t *from = sums + v * LANES;
            const VECTOR sum = FLOATS(part ? LOAD_PART_S32(from, left) : LOAD_S32(from));
            const VECTOR scaled = ADD(bias[v], product(sum, weights[v], scale, weights_first));
            const VECTOR value = MIN(high, MAX(low, scaled));
            if (part) STORE_PART(y, value, left);
            else STORE(y + v * LANES, value);
        }
    }
}

INLINE void scale_all(const ml_scale_s32_args *p, const bool weights_first) {
    int64_t at = 0;
    for (; at + SCALED_VECTORS * LANES <= p->n; at += SCALED_VECTORS * LANES)
        scale_some(p, at, SCALED_VECTORS, LANES, weights_first);
    for (; at + LANES <= p->n; at += LANES) scale_some(p, at, 1, LANES, weights_first);
    if (at < p->n) scale_some(p, at, 0, p->n - at, weights_first);
}

void ML_VARIANT(scale_s32)(const ml_scale_s32_args *args) {
    const ml_scale_s32_args p = *args; /* a copy, not read again after each store */
    if (p.weights_first) scale_all(&p, true);
    else scale_all(&p, false);
}
