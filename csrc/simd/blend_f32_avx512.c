/* blend_f32_avx512.c -- the loops of blend_f32.h. */
#include "vector_avx512.h"

#define FUNCTION ml_blend_f32_avx512
#include "blend_f32.h"
