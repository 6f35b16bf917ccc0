/* depthwise_s8.c -- tiles of groups of four bytes, eight channels at a time, whose sums are
 * stored. */
#include "simd/neon_dot/depthwise_groups.h"
#include "simd/variants.h"

#include "simd/neon/depthwise_store.h"

void ml_depthwise_s8_neon_dot(const ml_depthwise_args *p) { run_tiles(p, NULL); }
