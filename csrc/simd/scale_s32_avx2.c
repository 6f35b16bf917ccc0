/* scale_s32_avx2.c -- eight columns at a time. */
#include <immintrin.h>
#include <stdint.h>

#define FUNCTION ml_scale_s32_avx2
#define LANES 8
#define VECTOR __m256
#define MASK __m256i
#define FIRST(count) \
    _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define LOAD(p, there) _mm256_maskload_ps(p, there)
#define SUMS(p, there) _mm256_cvtepi32_ps(_mm256_maskload_epi32(p, there))
#define STORE(p, there, v) _mm256_maskstore_ps(p, there, v)
#define SET(x) _mm256_set1_ps(x)
#define ADD _mm256_add_ps
#define MULTIPLY _mm256_mul_ps
#define MIN _mm256_min_ps
#define MAX _mm256_max_ps
#include "scale_s32_wide.h"
