/* blend_f32.c -- the plain meaning of blend_f32. */
#include "simd/variants.h"
#include "simd/scalar/blend_plain.h"

BLEND(blend, float, real, blend_real)

void ml_blend_f32_scalar(const ml_blend_args *p) { blend(p); }
