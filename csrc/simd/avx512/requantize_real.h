/* requantize_real.h -- sums times doubles, rounded once; for requantize_f64 and product_s8. */
#include "simd/avx512/requantize_small.h"

/* round(sum * real), ties away from zero, of eight sums; at most `high`. A number that is too
 * large for a conversion becomes the lowest value. */
static inline __m256i scale_below(__m256i sums, __m512d reals, __m512d high) {
    const __m512i half = _mm512_castpd_si512(_mm512_set1_pd(0.49999999999999994));
    const __m512i sign = _mm512_set1_epi64(INT64_MIN);
    const __m512d v = _mm512_min_pd(high, _mm512_mul_pd(_mm512_cvtepi32_pd(sums), reals));
    const __m512i signed_half =
        _mm512_ternarylogic_epi64(_mm512_castpd_si512(v), sign, half, 0xEA); /* (v & sign) | half */
    return _mm512_cvttpd_epi32(_mm512_add_pd(v, _mm512_castsi512_pd(signed_half)));
}

/* Scales sixteen sums in the same way, for to_bytes, which saturates and adds the zero point. */
static inline __m512i scale_real(__m512i sums, __m512d first, __m512d second, __m512d high) {
    const __m256i low_half = scale_below(_mm512_castsi512_si256(sums), first, high);
    const __m256i high_half = scale_below(_mm512_extracti64x4_epi64(sums, 1), second, high);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low_half), high_half, 1);
}
