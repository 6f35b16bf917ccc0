/* unpack.c -- integers of 2, 4 and 8 bits as bytes. */
#include "rules/unpack.h"

#include "math/loops.h"

/* Whole bytes of `each` elements of `bits`. */
#define UNPACK(name, each, bits)                                                                \
    static void name(const uint8_t *restrict x, int64_t bytes, int8_t *restrict y) {            \
        enum { MASK = (1 << (bits)) - 1, SIGN = 1 << ((bits)-1) };                              \
        for (int64_t i = 0; i < bytes; i++)                                                     \
            ML_UNROLL(4) for (int k = 0; k < (each); k++)                                       \
                y[i * (each) + k] = (int8_t)(((x[i] >> (k * (bits)) & MASK) ^ SIGN) - SIGN);    \
    }
UNPACK(unpack_s4, 2, 4)
UNPACK(unpack_s2, 4, 2)

const int8_t *ml_unpack(int32_t type, const void *x, int64_t first, int64_t count, int8_t *room) {
    const int64_t each = type == ML_S4 ? 2 : type == ML_S2 ? 4 : 1;
    const int64_t skip = first % each, bytes = ml_ceil_div(skip + count, each);
    const uint8_t *from = (const uint8_t *)x + first / each;
    if (each == 1) return (const int8_t *)from;
    if (each == 2) unpack_s4(from, bytes, room);
    else unpack_s2(from, bytes, room);
    return room + skip;
}
