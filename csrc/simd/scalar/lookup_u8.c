/* lookup_u8.c -- y[i] = table[x[i]], of 256 entries; y may be exactly x. */
#include "simd/variants.h"

void ml_lookup_u8_scalar(const uint8_t *table, const ml_byte_lines *lines, const uint8_t *x,
                         int64_t n, uint8_t *y) {
    for (int64_t i = 0; i < n; i++) y[i] = table[x[i]];
}
