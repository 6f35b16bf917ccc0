/* convert_f16.h -- widen_f16 and narrow_f16 in the words of levels that have LOAD_F16. */
#include "simd/words.h"

static inline void widen(const uint16_t *x, int64_t n, float *y) {
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) STORE(y + at, LOAD_F16(x + at));
    if (at < n) STORE_PART(y + at, LOAD_PART_F16(x + at, n - at), n - at);
}

static inline void narrow(const float *x, int64_t n, uint16_t *y) {
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) STORE_F16(y + at, LOAD(x + at));
    if (at < n) STORE_PART_F16(y + at, LOAD_PART(x + at, n - at), n - at);
}
