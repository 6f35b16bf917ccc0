/* values.c -- reads integers from tensors: axes, shapes, indices. */
#include "rules/values.h"

#define READ(type)                                                         \
    {                                                                      \
        const type *x = (const type *)value + first;                       \
        for (int64_t i = 0; i < count; i++) out[i] = (int64_t)x[i];        \
        return true;                                                       \
    }
static inline bool read_integers(int32_t type, const void *value, int64_t first, int64_t count,
                                 int64_t *out) {
    switch (type) {
    case ML_S64: READ(int64_t)
    case ML_S32: READ(int32_t)
    case ML_S16: READ(int16_t)
    case ML_S8: READ(int8_t)
    case ML_U8: READ(uint8_t)
    default: return false;
    }
}
#undef READ

bool ml_read_index(const ml_tensor *tensor, const void *value, int64_t index, int64_t *out) {
    return index >= 0 && index < ml_elements(&tensor->shape) &&
           read_integers(tensor->type, value, index, 1, out);
}

bool ml_read_integers(const ml_tensor *tensor, const void *value, int64_t count, int64_t *out) {
    return count <= ml_elements(&tensor->shape) &&
           read_integers(tensor->type, value, 0, count, out);
}

ml_status ml_axis(const ml_call *c, int64_t axis, int32_t rank, int32_t *out) {
    int64_t counted = axis < 0 ? axis + rank : axis;
    *out = (int32_t)counted;
    if (counted >= 0 && counted < rank) return ML_OK;
    return ml_fail(c, ML_SHAPE_ERROR, "axis %lld, expected %d to %d", (long long)axis, -rank,
                   rank - 1);
}

ml_status ml_read_axes(const ml_call *c, int i, const char *name, int32_t rank,
                       int32_t axes[ML_MAX_RANK]) {
    const ml_tensor *tensor = ml_input(c, i);
    uint32_t seen = 0;
    for (int32_t k = 0; k < tensor->shape.dims[0]; k++) {
        int64_t given = 0;
        int32_t axis;
        ml_read_index(tensor, ml_value(c, i), k, &given);
        ml_status status = ml_axis(c, given, rank, &axis);
        if (status != ML_OK) return status;
        if (seen >> axis & 1)
            return ml_fail(c, ML_SHAPE_ERROR, "dimension %d appears twice in %s", axis, name);
        seen |= 1u << axis;
        axes[k] = axis;
    }
    return ML_OK;
}

ml_status ml_append_dim(const ml_call *c, ml_shape *to, int64_t dim) {
    if (to->rank == ML_MAX_RANK)
        return ml_fail(c, ML_SHAPE_ERROR, "the result has more than %d dimensions", ML_MAX_RANK);
    if (dim > INT32_MAX)
        return ml_fail(c, ML_SHAPE_ERROR, "dimension %d of the result would be %lld", to->rank,
                       (long long)dim);
    to->dims[to->rank++] = (int32_t)dim;
    return ML_OK;
}

ml_status ml_append_dims(const ml_call *c, ml_shape *to, const ml_shape *from, int32_t first,
                         int32_t end) {
    ml_status status = ML_OK;
    for (int32_t d = first; d < end && status == ML_OK; d++)
        status = ml_append_dim(c, to, from->dims[d]);
    return status;
}

int64_t ml_elements_of(const ml_shape *shape, int32_t first, int32_t end) {
    ml_shape some = {.rank = end > first ? end - first : 0};
    memcpy(some.dims, shape->dims + first, (size_t)some.rank * sizeof *some.dims);
    return ml_elements(&some);
}

/* Widens `count` integers, and finds the largest one as unsigned, so that one comparison also finds
 * negative ones. */
#define WIDEN(type)                                                          \
    static uint64_t widen_##type(const void *from, int64_t count, int64_t *to) { \
        const type *x = from;                                                \
        uint64_t most = 0;                                                   \
        for (int64_t i = 0; i < count; i++) {                                \
            to[i] = x[i];                                                    \
            if ((uint64_t)to[i] > most) most = (uint64_t)to[i];              \
        }                                                                    \
        return most;                                                         \
    }
WIDEN(int16_t)
WIDEN(int32_t)
WIDEN(int64_t)

ml_status ml_read_indices(const ml_call *c, int input, int64_t first, int64_t count, int64_t size,
                          int64_t *out) {
    const void *x = ml_in(c, input);
    int32_t type = ml_in_tensor(c, input)->type;
    uint64_t most = type == ML_S64   ? widen_int64_t((const int64_t *)x + first, count, out)
                    : type == ML_S32 ? widen_int32_t((const int32_t *)x + first, count, out)
                                     : widen_int16_t((const int16_t *)x + first, count, out);
    if (count == 0 || most < (uint64_t)size) return ML_OK; /* nothing may be taken of nothing */
    int64_t i = 0;
    while (out[i] >= 0 && out[i] < size) i++;
    return ml_fail(c, ML_KERNEL_ERROR, "index %lld is %lld, expected 0 to %lld",
                   (long long)(first + i), (long long)out[i], (long long)size - 1);
}
