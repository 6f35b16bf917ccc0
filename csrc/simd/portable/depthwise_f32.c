/* depthwise_f32.c -- tiles of 8 pixels, or of 4 at sse2, times a vector of channels. */
#include "simd/tiles/depthwise_f32.h"

void ML_VARIANT(depthwise_f32)(const ml_depthwise_args *p) { run_tiles(p, NULL); }
