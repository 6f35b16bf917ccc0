/* values.h -- integers read from known tensors: axes, shapes, indices. */
#ifndef ML_RULES_VALUES_H
#define ML_RULES_VALUES_H

#include "kernel.h"

/* Reads an integer of any type as int64; false when `index` is outside the tensor or its type is no integer. */
bool ml_read_index(const ml_tensor *tensor, const void *value, int64_t index, int64_t *out);
/* The axis counted from the front; ML_SHAPE_ERROR when it is none of `rank`. */
ml_status ml_axis(const ml_call *c, int64_t axis, int32_t rank, int32_t *out);

#endif
