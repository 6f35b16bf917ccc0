/* requantize_f64.c -- four columns at a time. */
#include <immintrin.h>
#include <string.h>

#include "simd/variants.h"

enum { LANES = 4 };

static inline __m128i scale(__m128i sums, __m256d reals) {
    const __m256d most = _mm256_set1_pd(1e9), least = _mm256_set1_pd(-1e9);
    const __m256d half = _mm256_set1_pd(0.49999999999999994), sign = _mm256_set1_pd(-0.0);
    __m256d v = _mm256_mul_pd(_mm256_cvtepi32_pd(sums), reals);
    v = _mm256_min_pd(most, _mm256_max_pd(least, v));
    return _mm256_cvttpd_epi32(_mm256_add_pd(v, _mm256_or_pd(half, _mm256_and_pd(sign, v))));
}

void ml_requantize_f64_avx2(const ml_requantize_f64_args *p) {
    const __m128i zero = _mm_set1_epi32(p->zero), low_bytes = _mm_set1_epi32(0x0C080400);
    const __m128i low = _mm_set1_epi32(p->low), high = _mm_set1_epi32(p->high);
    for (int64_t column = 0; column < p->n; column += LANES) {
        const int count = (int)(p->n - column < LANES ? p->n - column : LANES);
        const __m128i there = _mm_cmpgt_epi32(_mm_set1_epi32(count), _mm_setr_epi32(0, 1, 2, 3));
        const __m256d reals = _mm256_maskload_pd(p->reals + column, _mm256_cvtepi32_epi64(there));
        const int32_t *sums = p->sums + column;
        int8_t *y = p->y + column;
        for (int64_t row = 0; row < p->rows; row++, sums += p->sums_stride, y += p->y_stride) {
            __m128i v = _mm_add_epi32(scale(_mm_maskload_epi32(sums, there), reals), zero);
            v = _mm_min_epi32(high, _mm_max_epi32(low, v));
            const int32_t bytes = _mm_cvtsi128_si32(_mm_shuffle_epi8(v, low_bytes));
            if (count == LANES) memcpy(y, &bytes, LANES);
            else memcpy(y, &bytes, (size_t)count);
        }
    }
}
