/* blend_s8.c -- the plain meaning of blend_s8. */
#include "simd/variants.h"
#include "simd/scalar/blend_plain.h"

BLEND(blend, int8_t, fixed, blend_fixed)

void ml_blend_s8_scalar(const ml_blend_args *p) { blend(p); }
