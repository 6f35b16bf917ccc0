/* blend_f32_avx2.c -- the loops of blend_f32.h. */
#include "vector_avx2.h"

#define FUNCTION ml_blend_f32_avx2
#include "blend_f32.h"
