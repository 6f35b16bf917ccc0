/* matrix.h -- a matrix transposed, of elements of 1, 2, 4 or 8 bytes. */
#ifndef ML_RULES_MATRIX_H
#define ML_RULES_MATRIX_H

#include <stdint.h>

/* A matrix whose rows lie `step` bytes apart becomes one whose rows do so. */
typedef struct ml_matrix {
    uint8_t *to;
    const uint8_t *from;
    int64_t to_step;
    int64_t from_step;
    int64_t rows; /* of `from` */
    int64_t columns;
    int64_t element; /* bytes */
} ml_matrix;

/* Nothing but the matrix is written, and nothing but it read. */
void ml_transpose(const ml_matrix *m);

#endif
