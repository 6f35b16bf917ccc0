/* blend_f32.c -- blend_f32 in the words of a level. */
#include "simd/portable/blend_real.h"

#define CHANNELS VECTOR
#define ELEMENT float
#define READ(p) LOAD(p)
#define WRITE(p, v) STORE(p, v)
#define BLEND(k, nw, sw, ne, se) blend_real(k, nw, sw, ne, se)

#include "simd/portable/blend_tile.h"

void ML_VARIANT(blend_f32)(const ml_blend_args *p) {
    NARROWER_OR(blend_f32, p, LANES, blend_pixels(p, ml_blend_f32_scalar));
}
