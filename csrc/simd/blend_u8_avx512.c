/* blend_u8_avx512.c -- the loops of blend_u8.h. */
#include "vector_s32_avx512.h"

#define FUNCTION ml_blend_u8_avx512
#include "blend_u8.h"
