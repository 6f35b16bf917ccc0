/* scale_s32_wide.h -- scale_s32 by columns of vectors; who includes it names its FUNCTION and says what its vectors are: LANES,
 * VECTOR, MASK, FIRST(count), LOAD(p, there), SUMS(p, there) as floats, STORE(p, there, v), SET(x), ADD, MULTIPLY, MIN, MAX. */
#include "simd.h"

void FUNCTION(const ml_scale_s32_args *p) {
    const VECTOR low = SET(p->low), high = SET(p->high);
    for (int64_t column = 0; column < p->n; column += LANES) {
        const int64_t left = p->n - column;
        const MASK there = FIRST(left < LANES ? (int)left : LANES);
        const VECTOR weights = LOAD(p->weights + column, there);
        const VECTOR bias = p->bias ? LOAD(p->bias + column, there) : SET(0.0f);
        const int32_t *sums = p->sums + column;
        float *y = p->y + column;
        for (int64_t r = 0; r < p->rows; r++, sums += p->sums_stride, y += p->y_stride) {
            const VECTOR scale = SET(p->scales[r]), sum = SUMS(sums, there);
            const VECTOR v = p->weights_first ? MULTIPLY(MULTIPLY(sum, weights), scale)
                                              : MULTIPLY(sum, MULTIPLY(scale, weights));
            STORE(y, there, MIN(high, MAX(low, ADD(bias, v))));
        }
    }
}
