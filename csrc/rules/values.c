/* values.c -- integers read from known tensors: axes, shapes, indices. */
#include "rules/values.h"

bool ml_read_index(const ml_tensor *tensor, const void *value, int64_t index, int64_t *out) {
    if (index < 0 || index >= ml_elements(&tensor->shape)) return false;
    switch (tensor->type) {
    case ML_S64: *out = ((const int64_t *)value)[index]; return true;
    case ML_S32: *out = ((const int32_t *)value)[index]; return true;
    case ML_S16: *out = ((const int16_t *)value)[index]; return true;
    case ML_S8: *out = ((const int8_t *)value)[index]; return true;
    case ML_U8: *out = ((const uint8_t *)value)[index]; return true;
    default: return false;
    }
}

ml_status ml_axis(const ml_call *c, int64_t axis, int32_t rank, int32_t *out) {
    int64_t counted = axis < 0 ? axis + rank : axis;
    *out = (int32_t)counted;
    if (counted >= 0 && counted < rank) return ML_OK;
    return ml_fail(c, ML_SHAPE_ERROR, "axis %lld, expected %d to %d", (long long)axis, -rank,
                   rank - 1);
}
