/* blend_s8_avx2.c -- the loops of blend_s8.h. */
#include "vector_s32_avx2.h"

#define FUNCTION ml_blend_s8_avx2
#include "blend_s8.h"
