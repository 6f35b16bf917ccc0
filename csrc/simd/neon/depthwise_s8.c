/* depthwise_s8.c -- tiles of int16, eight channels at a time, whose sums are stored. */
#include "simd/neon/depthwise_words.h"
#include "simd/variants.h"

#include "simd/neon/depthwise_store.h"

void ml_depthwise_s8_neon(const ml_depthwise_args *p) { run_tiles(p, NULL); }
