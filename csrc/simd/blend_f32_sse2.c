/* blend_f32_sse2.c -- the loops of blend_f32.h. */
#include "vector_sse2.h"

#define FUNCTION ml_blend_f32_sse2
#include "blend_f32.h"
