/* blend_u8.c -- blend_u8 in the words of a level, in floats. */
#include "simd/portable/blend_real.h"

#define CHANNELS VECTOR
#define ELEMENT uint8_t
#define READ(p) FLOATS(WIDEN(p, false))
#define READ_PART(p, count) FLOATS(WIDEN_PART(p, count, false))
#define WRITE(p, v) NARROW(p, TRUNCATED(v))
#define WRITE_PART(p, v, count) NARROW_PART(p, TRUNCATED(v), count)
#define BLEND(k, nw, sw, ne, se) ADD(blend_real(k, nw, sw, ne, se), SPLAT(0.5f))

#include "simd/portable/blend_tile.h"

void ML_VARIANT(blend_u8)(const ml_blend_args *p) {
    if (p->n < LANES && !MASKED_S32) ml_blend_u8_scalar(p);
    else blend_pixels(p);
}
