/* blend_f32_neon.c -- the loops of blend_f32.h. */
#include "vector_neon.h"

#define FUNCTION ml_blend_f32_neon
#include "blend_f32.h"
