/* range_f32.c -- range_f32 in the words of a level, four vectors at a time. */
#include "simd/words.h"

enum { AT_ONCE = 4 };

void ML_VARIANT(range_f32)(const float *x, int64_t n, float *least, float *most) {
    VECTOR low[AT_ONCE], high[AT_ONCE];
    int64_t i = 0;
    for (int v = 0; v < AT_ONCE; v++) low[v] = high[v] = SPLAT(0.0f);
    for (; i + AT_ONCE * LANES <= n; i += AT_ONCE * LANES) ML_UNROLL(4)
    for (int v = 0; v < AT_ONCE; v++) {
        const VECTOR values = LOAD(x + i + v * LANES);
        low[v] = MIN(values, low[v]);
        high[v] = MAX(values, high[v]);
    }
    for (; i < n; i += LANES) {
        const VECTOR values = n - i < LANES ? LOAD_PART(x + i, n - i) : LOAD(x + i);
        low[0] = MIN(values, low[0]);
        high[0] = MAX(values, high[0]);
    }
    *least = MIN_OF(MIN(MIN(low[0], low[1]), MIN(low[2], low[3])));
    *most = MAX_OF(MAX(MAX(high[0], high[1]), MAX(high[2], high[3])));
}
