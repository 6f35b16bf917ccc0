/* depthwise_s8.c -- pairs of int16, eight channels at a time. */
#include "simd/tiles/depthwise_s32.h"

void ml_depthwise_s8_avx2(const ml_depthwise_args *p) { run_tiles(p, NULL); }
