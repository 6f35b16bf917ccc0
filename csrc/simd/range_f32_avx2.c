/* range_f32_avx2.c -- vectors of eight. */
#include <immintrin.h>

#define FUNCTION ml_range_f32_avx2
#define LANES 8
#define VECTOR __m256
#define ZERO() _mm256_setzero_ps()
#define LOAD(p) _mm256_loadu_ps(p)
#define MIN _mm256_min_ps
#define MAX _mm256_max_ps
#define LEAST(v) least_of(v)
#define MOST(v) -least_of(_mm256_sub_ps(_mm256_setzero_ps(), v))

static inline float least_of(__m256 v) {
    __m128 half = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_min_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_min_ss(half, _mm_shuffle_ps(half, half, 1)));
}

#include "range_f32_wide.h"
