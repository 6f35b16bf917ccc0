/* softmax_f32_scalar.c -- a row of softmax, as softmax_f32.h has it. */
#include "vector_scalar.h"

#define FUNCTION ml_softmax_f32_scalar
#include "softmax_f32.h"
