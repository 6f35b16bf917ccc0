/* runs.h -- copies runs of bytes: in two loops, by indices, or repeatedly. */
#ifndef ML_RULES_RUNS_H
#define ML_RULES_RUNS_H

#include "kernel.h"

/* One loop of a copy: the number of iterations, and the bytes from one to the next on both
 * sides. */
typedef struct ml_turns {
    int64_t count;
    int64_t to;
    int64_t from;
} ml_turns;

/* Copies a run of bytes in two loops; `to` and `from` never overlap. */
void ml_copy_runs(void *to, const void *from, int64_t run, ml_turns outer, ml_turns inner);
/* Copies `count` runs of `run` bytes, the i-th from `from` + indices[i] * run, one after the
 * other. */
void ml_copy_indexed(void *to, const void *from, int64_t run, const int64_t *indices,
                     int64_t count);
/* Appends `count` copies of the `run` bytes at `to`. */
void ml_repeat(void *to, int64_t run, int64_t count);

/* memcpy for bytes that are often few; `bytes` may be 0. */
static inline void ml_copy_some(void *to, const void *from, int64_t bytes) {
    memcpy(to, from, (size_t)bytes);
}

/* LOOP(MOVE) with the MOVE(to, from, run) that is best for runs of this length. Up to 64 bytes it
 * is one or two moves (a call of memcpy costs as much as a dozen). */
#define ML_BY_RUN(run, LOOP)                 \
    do {                                     \
        if ((run) > 64) LOOP(ML_MOVE_ANY)   \
        else if ((run) > 32) LOOP(ML_MOVE_64)\
        else if ((run) > 16) LOOP(ML_MOVE_32)\
        else if ((run) == 16) LOOP(ML_MOVE_16)\
        else if ((run) > 8) LOOP(ML_MOVE_15) \
        else if ((run) == 8) LOOP(ML_MOVE_8) \
        else if ((run) > 4) LOOP(ML_MOVE_7)  \
        else if ((run) == 4) LOOP(ML_MOVE_4) \
        else if ((run) == 3) LOOP(ML_MOVE_3) \
        else if ((run) == 2) LOOP(ML_MOVE_2) \
        else LOOP(ML_MOVE_1)                 \
    } while (0)
#define ML_MOVE_1(to, from, run) memcpy(to, from, 1)
#define ML_MOVE_2(to, from, run) memcpy(to, from, 2)
#define ML_MOVE_3(to, from, run) ML_MOVE_ENDS(to, from, run, 2)
#define ML_MOVE_4(to, from, run) memcpy(to, from, 4)
#define ML_MOVE_7(to, from, run) ML_MOVE_ENDS(to, from, run, 4)
#define ML_MOVE_8(to, from, run) memcpy(to, from, 8)
#define ML_MOVE_15(to, from, run) ML_MOVE_ENDS(to, from, run, 8)
#define ML_MOVE_16(to, from, run) memcpy(to, from, 16)
#define ML_MOVE_32(to, from, run) ML_MOVE_ENDS(to, from, run, 16)
#define ML_MOVE_64(to, from, run) ML_MOVE_ENDS(to, from, run, 32)
#define ML_MOVE_ANY(to, from, run) memcpy(to, from, (size_t)(run))
#define ML_MOVE_ENDS(to, from, run, half) \
    (memcpy(to, from, half), memcpy((to) + (run) - (half), (from) + (run) - (half), half))

#endif
