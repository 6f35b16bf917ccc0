/* matrix.h -- transposes a matrix of elements of 1, 2, 4 or 8 bytes. */
#ifndef ML_RULES_MATRIX_H
#define ML_RULES_MATRIX_H

#include "simd/simd.h"

/* Reads and writes nothing outside the two matrices. */
void ml_transpose(const ml_simd *simd, const ml_transpose_args *m, int64_t element);

#endif
