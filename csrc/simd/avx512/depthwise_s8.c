/* depthwise_s8.c -- groups of four bytes, u8 times s8, sixteen channels at a time. */
#include "simd/tiles/depthwise_s32.h"

void ml_depthwise_s8_avx512(const ml_depthwise_args *p) { run_tiles(p, NULL); }
