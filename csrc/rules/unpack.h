/* unpack.h -- unpacks integers of 2, 4 and 8 bits to bytes. */
#ifndef ML_RULES_UNPACK_H
#define ML_RULES_UNPACK_H

#include "kernel.h"

enum { ML_UNPACKED = 1024, ML_UNPACK_ROOM = ML_UNPACKED + 8 };

/* `count` (at most ML_UNPACKED) elements of `x`, from number `first` on, as bytes. Returns where
 * they lie already (s8, u8), or unpacks them (s4, s2) to `room`, which has ML_UNPACK_ROOM bytes.
 * Low bits come first. */
const int8_t *ml_unpack(int32_t type, const void *x, int64_t first, int64_t count, int8_t *room);

#endif
