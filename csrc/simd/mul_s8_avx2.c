/* mul_s8_avx2.c -- the loops of mul_s8.h. */
#include "vector_s32_avx2.h"

#define FUNCTION ml_mul_s8_avx2
#include "mul_s8.h"
