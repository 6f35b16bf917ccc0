/* blend_u8_sse2.c -- the loops of blend_u8.h. */
#include "vector_s32_sse2.h"

#define FUNCTION ml_blend_u8_sse2
#include "blend_u8.h"
