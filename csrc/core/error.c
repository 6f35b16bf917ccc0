/* error.c -- fills the error that a failing call returns. */
#include "core/error.h"

#include <stdio.h>

ml_status ml_error_set_list(ml_error *error, ml_status status, const char *format,
                            va_list arguments) {
    if (error->status != ML_OK) return status;
    error->status = status;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    return status;
}

ml_status ml_error_set(ml_error *error, ml_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    ml_error_set_list(error, status, format, arguments);
    va_end(arguments);
    return status;
}

ml_status ml_error_memory(ml_error *error, const char *what, int64_t needed, int64_t available) {
    if (error->status == ML_OK) {
        error->needed = needed;
        error->available = available;
    }
    if (available <= 0)
        return ml_error_set(error, ML_ARENA_ERROR, "%s needs %lld bytes, the system refused them",
                            what, (long long)needed);
    return ml_error_set(error, ML_ARENA_ERROR,
                        "%s needs %lld bytes, has %lld, the system refused more", what,
                        (long long)needed, (long long)available);
}

ml_status ml_error_refused(ml_error *error, const char *what) {
    return ml_error_set(error, ML_ARENA_ERROR, "the system refused the memory for %s", what);
}

void ml_error_about(ml_error *error, int32_t tensor, const ml_shape *shape) {
    if (error->n_tensors >= ML_ERROR_TENSORS) return;
    error->tensors[error->n_tensors] = tensor;
    error->shapes[error->n_tensors] = shape ? *shape : (ml_shape){.rank = -1};
    error->n_tensors++;
}
