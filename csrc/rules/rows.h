/* rows.h -- copies of many equally long runs of bytes, which is what slicing, joining and splitting come down to. */
#ifndef ML_ROWS_H
#define ML_ROWS_H

#include "kernel.h"

/* Copies `count` runs of `run` bytes; each next one lies `to_step` bytes on in `to`, `from_step` in `from`. A run of constant
 * length is one or two moves where a call of memcpy would cost as much as a dozen. */
static inline void ml_copy_rows(void *to, int64_t to_step, const void *from, int64_t from_step,
                                int64_t run, int64_t count) {
    uint8_t *y = to;
    const uint8_t *x = from;
#define ML_ROWS_OF(bytes)                                                                              \
    case bytes:                                                                                        \
        for (int64_t i = 0; i < count; i++) memcpy(y + i * to_step, x + i * from_step, (size_t)bytes); \
        return;
    switch (run) {
    case 0:
        return;
        ML_ROWS_OF(1)
        ML_ROWS_OF(2)
        ML_ROWS_OF(4)
        ML_ROWS_OF(8)
        ML_ROWS_OF(16)
        ML_ROWS_OF(32)
        ML_ROWS_OF(64)
    default:
        for (int64_t i = 0; i < count; i++) memcpy(y + i * to_step, x + i * from_step, (size_t)run);
    }
#undef ML_ROWS_OF
}

#endif
