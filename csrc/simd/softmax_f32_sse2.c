/* softmax_f32_sse2.c -- a row of softmax, as softmax_f32.h has it. */
#include "math/float_math.h"
#include "vector_sse2.h"

#define FUNCTION ml_softmax_f32_sse2
#include "softmax_f32.h"
