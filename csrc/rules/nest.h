/* nest.h -- ONE nest of copies with steps: what slicing, padding, transposing, joining, tiling and
 * gathering come down to.
 *
 * A nest copies runs of bytes between two places. On one side, the packed one, the runs lie one
 * behind the other. On the other each dimension has a step of its own, which may be negative
 * (reversed) or 0 (repeated). Prepare builds it from the outermost dimension inwards; dimensions
 * that come to one step are merged on the way, so most nests have one or two. */
#ifndef ML_RULES_NEST_H
#define ML_RULES_NEST_H

#include "kernel.h"

typedef struct ml_nest {
    int64_t start; /* bytes to the first run on the stepping side */
    int64_t run; /* bytes */
    int64_t steps[ML_MAX_RANK]; /* bytes, by dimension, outermost first */
    int32_t counts[ML_MAX_RANK];
    int16_t n; /* dimensions around the run */
    /* The one whose runs lie together where the innermost one's do not: a matrix is transposed; -1:
     * none. */
    int16_t across;
} ml_nest;

/* What a nest steps over: bytes of an element, or 1 where it numbers elements that are picked. */
static inline int64_t ml_unit(const ml_tensor *tensor) {
    int64_t bytes = ml_type_bytes(tensor->type);
    return bytes > 0 ? bytes : 1;
}

/* Prepare. Bytes from index to index of each dimension of a tensor; of strings and packed types
 * elements. */
void ml_pitches(const ml_tensor *tensor, int64_t pitches[ML_MAX_RANK]);
/* The same for a shape, of elements of so many bytes. */
void ml_pitches_of(const ml_shape *shape, int64_t element, int64_t pitches[ML_MAX_RANK]);
/* No dimension yet, around runs of `element` bytes; 0 where there is nothing to copy. */
void ml_nest_begin(ml_nest *nest, int64_t element);
/* A dimension of `count` (> 0) indices, `step` bytes apart, within those added before; at most
 * ML_MAX_RANK of them. */
void ml_nest_add(ml_nest *nest, int64_t count, int64_t step);
/* Once all are added: lengthens the run by what lies together. */
void ml_nest_end(ml_nest *nest);

/* Eval, in blocks. From the stepping side, `start` bytes behind `from`, to a packed `to`. */
ml_status ml_nest_gather(const ml_call *c, const ml_nest *nest, const void *from, void *to);
/* From a packed `from` to the stepping side, `start` bytes behind `to`; what lies between stays as
 * it is. */
ml_status ml_nest_scatter(const ml_call *c, const ml_nest *nest, const void *from, void *to);
/* From a packed `from` into the `bytes` at `to`, where the runs follow each other (steps > 0); what
 * lies between them is filled with `equal`: 16 bytes of equal elements. */
ml_status ml_nest_pad(const ml_call *c, const ml_nest *nest, const void *from, void *to,
                      int64_t bytes, const uint8_t equal[16]);
/* Where the packed side's byte `at` lies on the other. */
static inline int64_t ml_nest_at(const ml_nest *nest, int64_t at) {
    int64_t offset = nest->start + at % nest->run, index = at / nest->run;
    for (int32_t d = nest->n - 1; d >= 0; d--) {
        offset += index % nest->counts[d] * nest->steps[d];
        index /= nest->counts[d];
    }
    return offset;
}

/* The eval of kernels whose blob is a nest and nothing else: output 0 from input 0, bytes, packed
 * elements or strings. */
ml_status ml_nest_move(const ml_call *c);

/* One loop of a copy: how often, and the bytes from one turn to the next on both sides. */
typedef struct ml_turns {
    int64_t count;
    int64_t to;
    int64_t from;
} ml_turns;

/* Copies a run of bytes in two loops; `to` and `from` never overlap. */
void ml_copy_runs(void *to, const void *from, int64_t run, ml_turns outer, ml_turns inner);
/* Copies `count` runs of `run` bytes, the i-th from `from` + indices[i] * run, one behind the
 * other. */
void ml_copy_indexed(void *to, const void *from, int64_t run, const int64_t *indices,
                     int64_t count);
/* Puts `count` copies of the `run` bytes at `to` behind them. */
void ml_repeat(void *to, int64_t run, int64_t count);

/* memcpy of what is often short; `bytes` may be 0. */
static inline void ml_copy_some(void *to, const void *from, int64_t bytes) {
    memcpy(to, from, (size_t)bytes);
}

/* LOOP(MOVE) with the MOVE(to, from, run) that is best for runs of so many bytes: up to 64 they are
 * one or two moves, where a call of memcpy would cost as much as a dozen, and up to 512 moves of
 * 64. */
#define ML_BY_RUN(run, LOOP)                 \
    do {                                     \
        if ((run) > 512) LOOP(ML_MOVE_ANY)   \
        else if ((run) > 64) LOOP(ML_MOVE_LINES) \
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
static inline void ml_move_lines(uint8_t *to, const uint8_t *from, int64_t run) {
    for (int64_t i = 0; i + 64 <= run; i += 64) memcpy(to + i, from + i, 64);
    memcpy(to + run - 64, from + run - 64, 64);
}
#define ML_MOVE_LINES(to, from, run) ml_move_lines(to, from, run)
#define ML_MOVE_ENDS(to, from, run, half) \
    (memcpy(to, from, half), memcpy((to) + (run) - (half), (from) + (run) - (half), half))

#endif
