/* nest.h -- a nest of copies with steps, which does slicing, padding, transposing, joining, tiling
 * and gathering.
 *
 * A nest copies runs of bytes between two places. On one side, the packed one, the runs lie one
 * after the other. On the other each dimension has a step of its own, which may be negative
 * (reversed) or 0 (repeated). Prepare builds it from the outermost dimension inwards, and merges
 * dimensions that have a common step, so most nests have one or two. */
#ifndef ML_RULES_NEST_H
#define ML_RULES_NEST_H

#include "rules/runs.h"

typedef struct ml_nest {
    int64_t start; /* bytes to the first run on the stepping side */
    int64_t run; /* bytes */
    int64_t steps[ML_MAX_RANK]; /* bytes, by dimension, outermost first */
    int32_t counts[ML_MAX_RANK];
    int16_t n; /* dimensions around the run */
    /* The dimension along which runs are contiguous while those of the innermost one are not, so
     * that a matrix is transposed; -1: none. */
    int16_t across;
} ml_nest;

/* The unit of a nest's steps: the bytes of an element, or 1 if elements are picked by number. */
static inline int64_t ml_unit(const ml_tensor *tensor) {
    int64_t bytes = ml_type_bytes(tensor->type);
    return bytes > 0 ? bytes : 1;
}

/* Prepare. The distance from index to index along each dimension of a tensor: in bytes, or in
 * elements for strings and packed types. */
void ml_pitches(const ml_tensor *tensor, int64_t pitches[ML_MAX_RANK]);
/* The same for a shape with elements of `element` bytes. */
void ml_pitches_of(const ml_shape *shape, int64_t element, int64_t pitches[ML_MAX_RANK]);
/* Starts a nest without dimensions, with runs of `element` bytes (0 if there is nothing to
 * copy). */
void ml_nest_begin(ml_nest *nest, int64_t element);
/* Adds a dimension of `count` indices, `step` bytes apart, inside those added before; at most
 * ML_MAX_RANK. A nest with a count of 0 is not carried out. */
void ml_nest_add(ml_nest *nest, int64_t count, int64_t step);
/* Ends building: contiguous dimensions become part of the run. */
void ml_nest_end(ml_nest *nest);

/* Eval, in blocks. Copies from the stepping side, `start` bytes after `from`, to a packed `to`. */
ml_status ml_nest_gather(const ml_call *c, const ml_nest *nest, const void *from, void *to);
/* Copies from a packed `from` to the stepping side, `start` bytes after `to`; bytes between runs do
 * not change. */
ml_status ml_nest_scatter(const ml_call *c, const ml_nest *nest, const void *from, void *to);
/* Copies from a packed `from` into the `bytes` at `to`, where runs have ascending places (steps >
 * 0); bytes between them are filled with `equal`, 16 bytes of equal elements. */
ml_status ml_nest_pad(const ml_call *c, const ml_nest *nest, const void *from, void *to,
                      int64_t bytes, const uint8_t equal[16]);
/* Eval, for 4-bit elements; the nest counts elements, not bytes. Runs may begin in either half of a
 * byte. Copies from the stepping side, which begins `start` elements plus nest->start after `from`,
 * to a packed `to`. */
ml_status ml_gather_nibbles(const ml_call *c, const ml_nest *nest, int64_t start,
                            const uint8_t *from, uint8_t *to);
/* Copies from a packed `from` to the stepping side; elements between runs do not change. */
ml_status ml_scatter_nibbles(const ml_call *c, const ml_nest *nest, int64_t start,
                             const uint8_t *from, uint8_t *to);
/* The position on the stepping side of byte `at` of the packed side. */
static inline int64_t ml_nest_at(const ml_nest *nest, int64_t at) {
    int64_t offset = nest->start + at % nest->run, index = at / nest->run;
    for (int32_t d = nest->n - 1; d >= 0; d--) {
        offset += index % nest->counts[d] * nest->steps[d];
        index /= nest->counts[d];
    }
    return offset;
}

/* The eval of kernels whose blob is just a nest: copies input 0 to output 0; bytes, packed elements
 * or strings. */
ml_status ml_nest_move(const ml_call *c);

#endif
