/* packed.h -- runs of 4-bit elements, two to a byte, the first in the low half. */
#ifndef ML_RULES_PACKED_H
#define ML_RULES_PACKED_H

#include "kernel.h"

static inline uint8_t ml_nibble_bits(const uint8_t *x, int64_t i) {
    return (uint8_t)(x[i / 2] >> (i & 1) * 4 & 15);
}

/* Appends `count` elements of `from`, from number `first` on, after the `at` elements that `to` has
 * already; the rest of the last byte becomes 0. */
static inline void ml_append_nibbles(uint8_t *to, int64_t at, const uint8_t *from, int64_t first,
                                     int64_t count) {
    if (count > 0 && at & 1) {
        to[at / 2] = (uint8_t)(to[at / 2] | ml_nibble_bits(from, first++) << 4);
        at++;
        count--;
    }
    uint8_t *y = to + at / 2;
    const uint8_t *x = from + first / 2;
    if (first & 1)
        for (int64_t i = 0; i < count / 2; i++) y[i] = (uint8_t)(x[i] >> 4 | x[i + 1] << 4);
    else memcpy(y, x, (size_t)(count / 2));
    if (count & 1) y[count / 2] = ml_nibble_bits(from, first + count - 1);
}

#endif
