/* take.h -- slices of input 0 that indices, input 1, name: elements of any kind, bytes, packed ones
 * or strings. */
#ifndef ML_RULES_TAKE_H
#define ML_RULES_TAKE_H

#include "kernel.h"

/* A blob. */
typedef struct ml_take {
    int64_t outer; /* positions of the input before the axes that are named */
    int64_t alike; /* of these, how many share their indices */
    int64_t count; /* slices of each */
    int64_t size; /* positions of the axes that are named */
    int64_t inner; /* elements of a slice */
    int32_t axis; /* the first one that is named */
    int32_t depth; /* indices to name a slice */
} ml_take;

/* Prepare, where the blob is an ml_take. The first `batch` dimensions (negative: counted from
 * `end`) are those of both inputs; the next ones of the indices, up to `end`, stand in the output
 * in place of the `depth` axes of the input that are named, from `axis` on. ML_SHAPE_ERROR where
 * batches do not match. */
ml_status ml_prepare_take(const ml_call *c, int32_t batch, int32_t end, int32_t axis,
                          int32_t depth);
/* Its eval. ML_KERNEL_ERROR for an index that is not in its axis. */
ml_status ml_take_slices(const ml_call *c);

#endif
