/* quantize_row.h -- floats quantized at run time, for operators of float inputs and integer weights. */
#ifndef ML_QUANTIZE_ROW_H
#define ML_QUANTIZE_ROW_H

#include <stdbool.h>
#include <stdint.h>

/* real = scale * (integer - zero) */
typedef struct ml_row_scale {
    float scale;
    int32_t zero;
} ml_row_scale;

/* row[i] = x[i] in the 255 (symmetric) or 256 (asymmetric) steps that span the row and 0, ties away from zero: TFLite's
 * SymmetricQuantizeFloats and AsymmetricQuantizeFloats. A row of zeros has scale 1. */
ml_row_scale ml_quantize_row(const float *x, int64_t k, bool asymmetric, int16_t *row);

#endif
