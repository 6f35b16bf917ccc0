/* fold_u8.c -- extremes of bytes, in sixteen lanes along a row that fills them. */
#include "simd/variants.h"

enum { LANES = 16 };

static inline uint8_t most_of(uint8_t a, uint8_t b) { return a > b ? a : b; }

void ml_fold_u8_scalar(const ml_fold_u8_args *args) {
    const ml_fold_u8_args p = *args; /* a copy, not read again after each store */
    const uint8_t *x = p.x;
    for (int64_t r = 0; r < p.rows; r++, x += p.stride) {
        uint8_t lanes[LANES] = {0}, most = 0;
        int64_t i = 0;
        if (p.across) {
            ML_IVDEP
            for (; i < p.n; i++) p.y[i] = most_of(p.y[i] ^ p.flip, x[i] ^ p.flip) ^ p.flip;
            continue;
        }
        for (; i + LANES <= p.n; i += LANES)
            for (int k = 0; k < LANES; k++) lanes[k] = most_of(lanes[k], x[i + k] ^ p.flip);
        for (int k = 0; k < LANES && i > 0; k++) most = most_of(most, lanes[k]);
        for (; i < p.n; i++) most = most_of(most, x[i] ^ p.flip);
        p.y[r] = most_of(p.y[r] ^ p.flip, most) ^ p.flip;
    }
}
