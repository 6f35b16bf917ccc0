/* steps.h -- the scale and zero point by which floats are quantized at run time, for operators with
 * float inputs and integer weights. */
#ifndef ML_STEPS_H
#define ML_STEPS_H

#include <stdbool.h>
#include <stdint.h>

/* Quantization steps that cover all values of a row and 0: 255 (symmetric) or 256 (asymmetric)
 * steps, from `low` to 127; `zero` is the step of 0. TFLite's SymmetricQuantizeFloats and
 * AsymmetricQuantizeFloats. */
typedef struct ml_steps {
    float scale; /* 1 for a row of zeros */
    float inverse;
    int32_t low;
    int32_t zero;
} ml_steps;
/* For values from least <= 0 to most >= 0. */
ml_steps ml_steps_of(float least, float most, bool asymmetric);

#endif
