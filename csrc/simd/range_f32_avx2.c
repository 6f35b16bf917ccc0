/* range_f32_avx2.c -- vectors of eight. */
#include <immintrin.h>

#define FUNCTION ml_range_f32_avx2
#define LANES 8
#define VECTOR __m256
#define ZERO() _mm256_setzero_ps()
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define MIN _mm256_min_ps
#define MAX _mm256_max_ps
#include "range_f32_wide.h"
