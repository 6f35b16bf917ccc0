/* softmax_f32_neon.c -- a row of softmax, as softmax_f32.h has it. */
#include "math/float_math.h"
#include "vector_neon.h"

#define FUNCTION ml_softmax_f32_neon
#include "softmax_f32.h"
