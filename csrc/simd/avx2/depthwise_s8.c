/* depthwise_s8.c -- pairs of int16, eight channels at a time. */
#include <immintrin.h>
#include <stdbool.h>

#include "simd/variants.h"

#define VECTOR __m256i
#define ELEMENT int32_t
#define REGISTER "x"
#define LANES 8
#define MASKS true

#define ZERO() _mm256_setzero_si256()
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define LOAD_PART(p, count) _mm256_maskload_epi32((const int *)(const void *)(p), first(count))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define STORE_PART(p, v, count) _mm256_maskstore_epi32(p, first(count), v)
#define MULTIPLY_ADD(x, w, sum) _mm256_add_epi32(sum, _mm256_madd_epi16(x, w))
#define ADD(a, b) _mm256_add_epi32(a, b)
#define FINISH(p, v) (v)

static inline __m256i first(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#include "simd/tiles/depthwise.h"

void ml_depthwise_s8_avx2(const ml_depthwise_args *p) { run_tiles(p, NULL); }
