/* range_f32_wide.h -- range_f32 by four vectors at a time; who includes it names its FUNCTION and says what its vectors are:
 * LANES, VECTOR, ZERO(), LOAD(p), MIN and MAX, which give their second operand where the first is NaN, LEAST(v) and MOST(v). */
#include "simd.h"

enum { AT_ONCE = 4 };

void FUNCTION(const float *x, int64_t n, float *least, float *most) {
    VECTOR low[AT_ONCE], high[AT_ONCE];
    int64_t i = 0;
    for (int v = 0; v < AT_ONCE; v++) low[v] = high[v] = ZERO();
    for (; i + AT_ONCE * LANES <= n; i += AT_ONCE * LANES)
#pragma GCC unroll 4
        for (int v = 0; v < AT_ONCE; v++) {
            const VECTOR values = LOAD(x + i + v * LANES);
            low[v] = MIN(values, low[v]);
            high[v] = MAX(values, high[v]);
        }
    for (; i + LANES <= n; i += LANES) {
        low[0] = MIN(LOAD(x + i), low[0]);
        high[0] = MAX(LOAD(x + i), high[0]);
    }
    *least = LEAST(MIN(MIN(low[0], low[1]), MIN(low[2], low[3])));
    *most = MOST(MAX(MAX(high[0], high[1]), MAX(high[2], high[3])));
    for (; i < n; i++) {
        *least = x[i] < *least ? x[i] : *least;
        *most = x[i] > *most ? x[i] : *most;
    }
}
