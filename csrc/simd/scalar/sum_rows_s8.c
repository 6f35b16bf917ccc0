/* sum_rows_s8.c -- the plain meaning of sum_rows_s8. */
#include "simd/variants.h"

void ml_sum_rows_s8_scalar(const ml_sum_rows_s8_args *args) {
    const ml_sum_rows_s8_args p = *args; /* a copy, not read again after each store */
    const int32_t flip = p.is_signed ? 128 : 0;
    for (int64_t r = 0; r < p.rows; r++) {
        const uint8_t *x = p.x + r * p.stride;
        uint32_t sum = 0;
        /* (x ^ 128) - 128 is the signed byte. */
        for (int64_t i = 0; p.along && i < p.n; i++) sum += (uint32_t)((x[i] ^ flip) - flip);
        if (p.along) p.sums[r] = (int32_t)((uint32_t)p.sums[r] + sum);
        for (int64_t i = 0; !p.along && i < p.n; i++)
            p.sums[i] = (int32_t)((uint32_t)p.sums[i] + (uint32_t)((x[i] ^ flip) - flip));
    }
}
