/* blend_s8_neon.c -- the loops of blend_s8.h. */
#include "vector_s32_neon.h"

#define FUNCTION ml_blend_s8_neon
#include "blend_s8.h"
