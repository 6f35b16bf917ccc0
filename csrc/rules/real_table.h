/* real_table.h -- functions of reals for quantized integers: a table of 256 bytes, or 512 lines for
 * 16 bits (TFLite's LUTPopulate).
 *
 * The function is computed in double and rounded to float, so that every libm gives the same;
 * everything else is float, as in TFLite. Where TFLite's casts are undefined, results saturate. */
#ifndef ML_RULES_REAL_TABLE_H
#define ML_RULES_REAL_TABLE_H

#include "kernel.h"

typedef float (*ml_real_function)(float x, const void *p);

/* Derives an ml_byte_table for ml_lookup: scale * (x - zero_point) through `f`, divided by the
 * output's scale, ties away from zero. */
int64_t ml_derive_real_bytes(const ml_call *c, void *to, ml_real_function f, const void *p);
/* Derives an ml_lines_s16 over all of int16, for ml_eval_lines. */
int64_t ml_derive_real_lines(const ml_call *c, void *to, ml_real_function f, const void *p);
/* y[i] is the value at x[i] of the line there; the blob is an ml_elementwise. */
ml_status ml_eval_lines(const ml_call *c);

/* Defines the derives `name`_bytes and `name`_lines of a function without context, and its rows. */
#define ML_REAL_TABLES(name, f)                                        \
    static int64_t name##_bytes(const ml_call *c, void *to) {          \
        return ml_derive_real_bytes(c, to, f, NULL);                   \
    }                                                                  \
    static __attribute__((unused)) int64_t name##_lines(const ml_call *c, void *to) { \
        return ml_derive_real_lines(c, to, f, NULL);                   \
    }
#define ML_REAL_BYTES_ROW(kind, name) {kind " -> " kind, name##_bytes, NULL, ml_lookup}
#define ML_REAL_LINES_ROW(name) {"s16 -> s16", name##_lines, NULL, ml_eval_lines}

#endif
