/* blend_s8_sse2.c -- the loops of blend_s8.h. */
#include "vector_s32_sse2.h"

#define FUNCTION ml_blend_s8_sse2
#include "blend_s8.h"
