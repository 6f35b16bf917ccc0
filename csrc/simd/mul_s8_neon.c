/* mul_s8_neon.c -- the loops of mul_s8.h. */
#include "vector_s32_neon.h"

#define FUNCTION ml_mul_s8_neon
#include "mul_s8.h"
