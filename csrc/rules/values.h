/* values.h -- integers read from tensors: axes, shapes, indices. */
#ifndef ML_RULES_VALUES_H
#define ML_RULES_VALUES_H

#include "kernel.h"

/* Reads an integer of any type as int64; false when `index` is outside the tensor or its type is no
 * integer. */
bool ml_read_index(const ml_tensor *tensor, const void *value, int64_t index, int64_t *out);
/* The axis counted from the front; ML_SHAPE_ERROR when it is not below `rank`. */
ml_status ml_axis(const ml_call *c, int64_t axis, int32_t rank, int32_t *out);
/* The axes that input `i`, a vector with values, names, counted from the front; ML_SHAPE_ERROR when
 * there is one twice. */
ml_status ml_read_axes(const ml_call *c, int i, const char *name, int32_t rank,
                       int32_t axes[ML_MAX_RANK]);
/* Puts a dimension after those of `to`; ML_SHAPE_ERROR when they become too many, or it is too
 * long. */
ml_status ml_append_dim(const ml_call *c, ml_shape *to, int64_t dim);
/* Puts the dimensions first .. end - 1 of `from` after those of `to`. */
ml_status ml_append_dims(const ml_call *c, ml_shape *to, const ml_shape *from, int32_t first,
                         int32_t end);
/* Elements of the dimensions first .. end - 1, 1 when there are none. */
int64_t ml_elements_of(const ml_shape *shape, int32_t first, int32_t end);
/* Eval. Reads `count` indices of an s16, s32 or s64 input, from number `first` on; ML_KERNEL_ERROR
 * where one is not in 0 .. size - 1. */
ml_status ml_read_indices(const ml_call *c, int input, int64_t first, int64_t count, int64_t size,
                          int64_t *out);

#endif
