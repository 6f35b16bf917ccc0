/* nest.h -- ONE nest of copies with steps: what slicing, padding, transposing, joining, tiling and
 * gathering come down to.
 *
 * A nest copies runs of bytes between two places. On one side, the packed one, the runs lie one
 * after the other. On the other each dimension has a step of its own, which may be negative
 * (reversed) or 0 (repeated). Prepare builds it from the outermost dimension inwards; dimensions
 * that come to one step are merged on the way, so most nests have one or two. */
#ifndef ML_RULES_NEST_H
#define ML_RULES_NEST_H

#include "rules/runs.h"

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

/* Eval, in blocks. From the stepping side, `start` bytes after `from`, to a packed `to`. */
ml_status ml_nest_gather(const ml_call *c, const ml_nest *nest, const void *from, void *to);
/* From a packed `from` to the stepping side, `start` bytes after `to`; what lies between stays as
 * it is. */
ml_status ml_nest_scatter(const ml_call *c, const ml_nest *nest, const void *from, void *to);
/* From a packed `from` into the `bytes` at `to`, where the runs follow each other (steps > 0); what
 * lies between them is filled with `equal`: 16 bytes of equal elements. */
ml_status ml_nest_pad(const ml_call *c, const ml_nest *nest, const void *from, void *to,
                      int64_t bytes, const uint8_t equal[16]);
/* Eval, of 4-bit elements, which the nest counts in place of bytes: run by run, whichever half of a
 * byte they begin in. From the stepping side, `start` elements and the nest's own after `from`, to
 * a packed `to`. */
ml_status ml_gather_nibbles(const ml_call *c, const ml_nest *nest, int64_t start,
                            const uint8_t *from, uint8_t *to);
/* From a packed `from` to the stepping side; what lies between stays as it is. */
ml_status ml_scatter_nibbles(const ml_call *c, const ml_nest *nest, int64_t start,
                             const uint8_t *from, uint8_t *to);
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

#endif
