/* mul_s8_avx512.c -- the loops of mul_s8.h. */
#include "vector_s32_avx512.h"

#define FUNCTION ml_mul_s8_avx512
#include "mul_s8.h"
