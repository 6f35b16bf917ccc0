/* depthwise_f32.c -- tiles of 8 pixels times 8 channels. */
#include <immintrin.h>
#include <stdbool.h>

#include "simd/variants.h"

#define VECTOR __m256
#define ELEMENT float
#define REGISTER "x"
#define LANES 8
#define MASKS true
#define WHOLES(width) true /* masks take registers, and masked stores are slow on Zen 1 to 3 */

#define ZERO() _mm256_setzero_ps()
#define LOAD(p) _mm256_loadu_ps((const float *)(const void *)(p))
#define LOAD_PART(p, count) _mm256_maskload_ps((const float *)(const void *)(p), first(count))
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define STORE_PART(p, v, count) _mm256_maskstore_ps(p, first(count), v)
#define MULTIPLY_ADD(x, w, sum) _mm256_fmadd_ps(x, w, sum)
#define ADD(a, b) _mm256_add_ps(a, b)
#define FINISH(p, v) \
    _mm256_min_ps(_mm256_set1_ps((p)->high), _mm256_max_ps(_mm256_set1_ps((p)->low), v))

static inline __m256i first(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#include "simd/tiles/depthwise.h"

void ml_depthwise_f32_avx2(const ml_depthwise_args *p) { run_tiles(p, NULL); }
