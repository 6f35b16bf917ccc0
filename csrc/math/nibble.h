/* nibble.h -- elements of packed s4 and s2. */
#ifndef ML_NIBBLE_H
#define ML_NIBBLE_H

#include <stdint.h>

/* Element `i`: the low half of a byte comes first. */
static inline int32_t ml_nibble(const void *packed, int64_t i) {
    uint32_t bits = (uint32_t)((const uint8_t *)packed)[i / 2] >> (i % 2 * 4) & 15;
    return (int32_t)(bits ^ 8) - 8;
}

static inline int32_t ml_two_bits(const void *packed, int64_t i) {
    uint32_t bits = (uint32_t)((const uint8_t *)packed)[i / 4] >> (i % 4 * 2) & 3;
    return (int32_t)(bits ^ 2) - 2;
}

#endif
