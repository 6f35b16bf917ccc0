/* blend_u8_neon.c -- the loops of blend_u8.h. */
#include "vector_s32_neon.h"

#define FUNCTION ml_blend_u8_neon
#include "blend_u8.h"
