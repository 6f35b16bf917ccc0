/* requantize_f64_avx512.c -- sixteen columns at a time, tails by masks. */
#include <immintrin.h>

#include "simd.h"

enum { LANES = 16 };

static inline __m256i scale(__m256i sums, __m512d reals) {
    const __m512d most = _mm512_set1_pd(1e9), least = _mm512_set1_pd(-1e9);
    const __m512d half = _mm512_set1_pd(0.49999999999999994), sign = _mm512_set1_pd(-0.0);
    __m512d v = _mm512_mul_pd(_mm512_cvtepi32_pd(sums), reals);
    v = _mm512_min_pd(most, _mm512_max_pd(least, v));
    return _mm512_cvttpd_epi32(_mm512_add_pd(v, _mm512_or_pd(half, _mm512_and_pd(sign, v))));
}

void ml_requantize_f64_avx512(const ml_requantize_f64_args *p) {
    const __m512i zero = _mm512_set1_epi32(p->zero);
    const __m512i low = _mm512_set1_epi32(p->low), high = _mm512_set1_epi32(p->high);
    for (int64_t column = 0; column < p->n; column += LANES) {
        const int64_t count = p->n - column < LANES ? p->n - column : LANES;
        const __mmask16 there = (__mmask16)((1u << count) - 1);
        const __m512d first = _mm512_maskz_loadu_pd((__mmask8)there, p->reals + column);
        const __m512d second = _mm512_maskz_loadu_pd((__mmask8)(there >> 8), p->reals + column + 8);
        const int32_t *sums = p->sums + column;
        int8_t *y = p->y + column;
        for (int64_t row = 0; row < p->rows; row++, sums += p->sums_stride, y += p->y_stride) {
            const __m512i sum = _mm512_maskz_loadu_epi32(there, sums);
            const __m256i low_half = scale(_mm512_castsi512_si256(sum), first);
            const __m256i high_half = scale(_mm512_extracti64x4_epi64(sum, 1), second);
            __m512i v = _mm512_inserti64x4(_mm512_castsi256_si512(low_half), high_half, 1);
            v = _mm512_min_epi32(high, _mm512_max_epi32(low, _mm512_add_epi32(v, zero)));
            _mm_mask_storeu_epi8(y, there, _mm512_cvtepi32_epi8(v));
        }
    }
}
