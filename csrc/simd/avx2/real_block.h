/* real_block.h -- sums of eight columns times reals, rounded: for product_s8. */
#ifndef ML_SIMD_AVX2_REAL_BLOCK_H
#define ML_SIMD_AVX2_REAL_BLOCK_H

#include "simd/avx2/requantize_block.h"

/* Doubles of the first four lanes and of the others. */
typedef struct real_block {
    __m256d first, second;
} real_block;

/* Loads columns from `column` on; lane i gets column order[i], or 0 if that is beyond the last of
 * n. */
static inline void load_reals(const double *p, int64_t column, int64_t n, __m256i order,
                              real_block *b) {
    double lanes[COLUMNS];
    int32_t from[COLUMNS];
    _mm256_storeu_si256((__m256i *)(void *)from, order);
    for (int i = 0; i < COLUMNS; i++) lanes[i] = column + from[i] < n ? p[column + from[i]] : 0.0;
    b->first = _mm256_loadu_pd(lanes);
    b->second = _mm256_loadu_pd(lanes + COLUMNS / 2);
}

/* Clamps, then rounds half away from zero. Clamping first gives the same, because the limits are
 * integers. */
static inline __m128i round_reals(__m256d v, __m256d low, __m256d high) {
    const __m256d half = _mm256_set1_pd(0.49999999999999994), sign = _mm256_set1_pd(-0.0);
    v = _mm256_min_pd(high, _mm256_max_pd(low, v));
    return _mm256_cvttpd_epi32(_mm256_add_pd(v, _mm256_or_pd(half, _mm256_and_pd(sign, v))));
}

/* Scales sums without adding the zero point, which to_bytes adds. */
static inline __m256i scale_real(__m256i sums, __m256d first, __m256d second, __m256d low,
                                 __m256d high) {
    const __m256d a = _mm256_cvtepi32_pd(_mm256_castsi256_si128(sums));
    const __m256d b = _mm256_cvtepi32_pd(_mm256_extracti128_si256(sums, 1));
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(round_reals(_mm256_mul_pd(a, first), low, high)),
        round_reals(_mm256_mul_pd(b, second), low, high), 1);
}

/* Scales the sums of some rows, in place. Never inlined, so that the code for small sums keeps its
 * registers. */
__attribute__((noinline, unused)) static void scale_reals(__m256i *v, int count,
                                                          const real_block *b, const ends *e) {
    const __m256d low = _mm256_set1_pd((double)e->args->low - e->args->zero);
    const __m256d high = _mm256_set1_pd((double)e->args->high - e->args->zero);
    for (int i = 0; i < count; i++) v[i] = scale_real(v[i], b->first, b->second, low, high);
}

#endif
