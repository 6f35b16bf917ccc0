/* softmax_f32_avx512.c -- a row of softmax, as softmax_f32.h has it. */
#include "math/float_math.h"
#include "vector_avx512.h"

#define FUNCTION ml_softmax_f32_avx512
#include "softmax_f32.h"
