/* take.h -- takes the slices of input 0 that input 1 gives by index; elements may be bytes, packed
 * or strings. */
#ifndef ML_RULES_TAKE_H
#define ML_RULES_TAKE_H

#include "kernel.h"

/* A blob. */
typedef struct ml_take {
    int64_t outer; /* positions of the input before the indexed axes */
    int64_t alike; /* how many of these share the same indices */
    int64_t count; /* slices for each */
    int64_t size; /* positions of the indexed axes */
    int64_t inner; /* elements of a slice */
    int32_t axis; /* the first indexed axis */
    int32_t depth; /* indices per slice */
} ml_take;

/* Prepare, for blobs that are an ml_take. The first `batch` dimensions (negative: counted from
 * `end`) are common to both inputs. The further dimensions of the indices, up to `end`, replace the
 * `depth` indexed axes of the input, from `axis` on, in the output. ML_SHAPE_ERROR if batches do
 * not match. */
ml_status ml_prepare_take(const ml_call *c, int32_t batch, int32_t end, int32_t axis,
                          int32_t depth);
/* Its eval. ML_KERNEL_ERROR for an index outside its axis. */
ml_status ml_take_slices(const ml_call *c);

#endif
