/* matrix.h -- a matrix transposed, of elements of 1, 2, 4 or 8 bytes. */
#ifndef ML_RULES_MATRIX_H
#define ML_RULES_MATRIX_H

#include "simd/simd.h"

/* Nothing but the matrix is written, and nothing but it read. */
void ml_transpose(const ml_simd *simd, const ml_transpose_args *m, int64_t element);

#endif
