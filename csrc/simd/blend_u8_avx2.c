/* blend_u8_avx2.c -- the loops of blend_u8.h. */
#include "vector_s32_avx2.h"

#define FUNCTION ml_blend_u8_avx2
#include "blend_u8.h"
