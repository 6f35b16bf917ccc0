/* blend_f32_scalar.c -- the plain meaning of blend_f32. */
#include "blend_plain.h"

BLEND(blend, float, real, blend_real)

void ml_blend_f32_scalar(const ml_blend_args *p) { blend(p); }
