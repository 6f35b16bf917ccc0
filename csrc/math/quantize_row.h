/* quantize_row.h -- floats quantized at run time, for operators of float inputs and integer weights. */
#ifndef ML_QUANTIZE_ROW_H
#define ML_QUANTIZE_ROW_H

#include <stdbool.h>
#include <stdint.h>

/* x[i] is about scale * row[i]: row[i] is the step of x[i], less that of 0, in the 255 (symmetric) or 256 (asymmetric) steps that
 * span the row and 0; ties away from zero. TFLite's SymmetricQuantizeFloats and AsymmetricQuantizeFloats. Returns the scale,
 * 1 for a row of zeros. */
float ml_quantize_row(const float *x, int64_t k, bool asymmetric, int16_t *row);
/* The same as bytes, step + 128; `factor` is less the byte of 0. */
float ml_quantize_bytes(const float *x, int64_t k, bool asymmetric, uint8_t *row, int32_t *factor);

#endif
