/* kernel_support.c -- what kernel.h offers to prepare: shapes, values, messages. */
#include <stdarg.h>
#include <stdio.h>

#include "kernel.h"

ml_status ml_fail(ml_error *error, ml_status status, const char *format, ...) {
    if (error->status != ML_OK) return status;
    error->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

int64_t ml_elements(const ml_shape *shape) {
    int64_t total = 1;
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] == 0) return 0;
    for (int32_t i = 0; i < shape->rank; i++)
        if (__builtin_mul_overflow(total, (int64_t)shape->dims[i], &total) || total > INT64_MAX / 64) return -1;
    return total;
}

int64_t ml_type_bytes(int32_t type) {
    switch (type) {
    case ML_U8:
    case ML_B8:
    case ML_S8: return 1;
    case ML_F16:
    case ML_S16:
    case ML_U16:
    case ML_BF16: return 2;
    case ML_F32:
    case ML_S32:
    case ML_U32:
    case ML_RESOURCE: return 4;
    case ML_S64:
    case ML_U64:
    case ML_F64:
    case ML_C64: return 8;
    case ML_C128: return 16;
    default: return 0;
    }
}

const char *ml_shape_text(const ml_shape *shape, char text[96]) {
    int used = snprintf(text, 96, "(");
    for (int32_t i = 0; i < shape->rank && used < 80; i++)
        used += snprintf(text + used, (size_t)(96 - used), i ? ", %d" : "%d", shape->dims[i]);
    snprintf(text + used, (size_t)(96 - used), ")");
    return text;
}

ml_status ml_broadcast_shape(const ml_shape *a, const ml_shape *b, ml_shape *out, ml_error *error) {
    out->rank = a->rank > b->rank ? a->rank : b->rank;
    for (int32_t i = 1; i <= out->rank; i++) {
        int32_t x = i <= a->rank ? a->dims[a->rank - i] : 1, y = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1) {
            char left[96], right[96];
            return ml_fail(error, ML_SHAPE_ERROR, "shapes %s and %s do not broadcast: dimension %d is %d and %d",
                           ml_shape_text(a, left), ml_shape_text(b, right), out->rank - i, x, y);
        }
        out->dims[out->rank - i] = x == 1 ? y : x;
    }
    return ML_OK;
}

ml_status ml_set_shape(ml_prepare *p, int i, const ml_shape *shape) {
    ml_tensor *t = ml_output(p, i);
    char text[96];
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dims[d] < 0)
            return ml_fail(p->error, ML_SHAPE_ERROR, "output %d would have the shape %s, with a negative dimension", i,
                           ml_shape_text(shape, text));
    int64_t elements = ml_elements(shape);
    if (elements < 0)
        return ml_fail(p->error, ML_SHAPE_ERROR, "output %d would have the shape %s, more elements than an int64 counts", i,
                       ml_shape_text(shape, text));
    if (!t->shaped || !ml_same_shape(&t->shape, shape)) t->touched = 1;
    if (&t->shape != shape) t->shape = *shape;
    t->bytes = elements * ml_type_bytes(t->type);
    t->shaped = 1;
    return ML_OK;
}

bool ml_read_index(const ml_tensor *tensor, const void *value, int64_t index, int64_t *out) {
    if (index < 0 || index >= ml_elements(&tensor->shape)) return false;
    if (tensor->type == ML_S64) *out = ((const int64_t *)value)[index];
    else if (tensor->type == ML_S32) *out = ((const int32_t *)value)[index];
    else return false;
    return true;
}
