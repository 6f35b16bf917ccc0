/* values.h -- reads integers from tensors: axes, shapes, indices. */
#ifndef ML_RULES_VALUES_H
#define ML_RULES_VALUES_H

#include "kernel.h"

/* Reads an integer of any type as int64; false if `index` is outside the tensor, or its type is not
 * an integer. */
bool ml_read_index(const ml_tensor *tensor, const void *value, int64_t index, int64_t *out);
/* Reads the first `count` integers of any type as int64; false if the tensor has fewer elements, or
 * its type is not an integer. */
bool ml_read_integers(const ml_tensor *tensor, const void *value, int64_t count, int64_t *out);
/* The axis counted from the front; ML_SHAPE_ERROR if it is out of range for `rank`. */
ml_status ml_axis(const ml_call *c, int64_t axis, int32_t rank, int32_t *out);
/* The axes in input `i`, a vector with known values, counted from the front; ML_SHAPE_ERROR if one
 * occurs twice. */
ml_status ml_read_axes(const ml_call *c, int i, const char *name, int32_t rank,
                       int32_t axes[ML_MAX_RANK]);
/* Appends a dimension to `to`; ML_SHAPE_ERROR if there are too many, or if it is too large. */
ml_status ml_append_dim(const ml_call *c, ml_shape *to, int64_t dim);
/* Appends the dimensions first .. end - 1 of `from` to `to`. */
ml_status ml_append_dims(const ml_call *c, ml_shape *to, const ml_shape *from, int32_t first,
                         int32_t end);
/* The product of the dimensions first .. end - 1; 1 if there are none. */
int64_t ml_elements_of(const ml_shape *shape, int32_t first, int32_t end);
/* Eval. Reads `count` indices of an s16, s32 or s64 input, from number `first` on; ML_KERNEL_ERROR
 * if one is not in 0 .. size - 1. */
ml_status ml_read_indices(const ml_call *c, int input, int64_t first, int64_t count, int64_t size,
                          int64_t *out);

#endif
