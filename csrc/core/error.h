/* error.h -- fills the error that a failing call returns: status, text, coordinates. */
#ifndef ML_CORE_ERROR_H
#define ML_CORE_ERROR_H

#include <stdarg.h>

#include "api/minilite.h"

/* An error without coordinates. */
#define ML_NO_ERROR ((ml_error){.subgraph = -1, .node = -1})

/* Placeholders in a text for the names of the first and the second tensor of the error. */
#define ML_FIRST "\1"
#define ML_SECOND "\2"

/* Writes status and text (a later failure does not replace the first) and returns `status`. */
ml_status ml_error_set(ml_error *error, ml_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
ml_status ml_error_set_list(ml_error *error, ml_status status, const char *format,
                            va_list arguments);
/* The same for missing memory: `needed` bytes were requested, `available` exist. */
ml_status ml_error_memory(ml_error *error, const char *what, int64_t needed, int64_t available);
/* The same for tables of the core, whose size would tell nobody anything. */
ml_status ml_error_refused(ml_error *error, const char *what);
/* Adds a tensor to those that the error is about; the shape is NULL where it does not matter. */
void ml_error_about(ml_error *error, int32_t tensor, const ml_shape *shape);

#endif
