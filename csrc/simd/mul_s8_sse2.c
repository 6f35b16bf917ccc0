/* mul_s8_sse2.c -- the loops of mul_s8.h. */
#include "vector_s32_sse2.h"

#define FUNCTION ml_mul_s8_sse2
#include "mul_s8.h"
