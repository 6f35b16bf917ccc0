/* unpack.h -- integers of 2, 4 and 8 bits as bytes of their value in two's complement. */
#ifndef ML_RULES_UNPACK_H
#define ML_RULES_UNPACK_H

#include "kernel.h"

enum { ML_UNPACKED = 1024, ML_UNPACK_ROOM = ML_UNPACKED + 8 };

/* `count` elements of `x`, from number `first` on, at most ML_UNPACKED: where they lie already (s8,
 * u8), or in `room`, of ML_UNPACK_ROOM bytes (s4, s2). Low bits come first. */
const int8_t *ml_unpack(int32_t type, const void *x, int64_t first, int64_t count, int8_t *room);

#endif
