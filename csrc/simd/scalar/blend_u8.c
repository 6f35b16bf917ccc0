/* blend_u8.c -- the plain meaning of blend_u8. */
#include "simd/variants.h"
#include "simd/scalar/blend_plain.h"

BLEND(blend, uint8_t, real, blend_rounded)

void ml_blend_u8_scalar(const ml_blend_args *p) { blend(p); }
