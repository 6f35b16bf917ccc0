/* depthwise_s8.c -- sums of pairs, which are stored. */
#include "simd/avx2/depthwise_pairs.h"
#include "simd/variants.h"

enum { LANES = 8 };

#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define STORE_PART(p, v, count) _mm256_maskstore_epi32(p, first_of(count), v)
#define FINISH(p, v) (v)
#include "simd/tiles/depthwise.h"

void ml_depthwise_s8_avx2(const ml_depthwise_args *p) { run_tiles(p, NULL); }
