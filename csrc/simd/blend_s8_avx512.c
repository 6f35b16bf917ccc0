/* blend_s8_avx512.c -- the loops of blend_s8.h. */
#include "vector_s32_avx512.h"

#define FUNCTION ml_blend_s8_avx512
#include "blend_s8.h"
