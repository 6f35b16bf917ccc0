/* requantize_f64.c -- sixteen columns at a time, tails by masks; for few rows 64 columns, which
 * make a vector of bytes. */
#include "simd/variants.h"
#include "simd/avx512/requantize_real.h"

enum { FEW_ROWS = 4 };

/* Clamped before they are rounded: the limits are integers, so that makes no difference. */
static inline __m256i scale(__m256i sums, __m512d reals, __m512d low, __m512d high) {
    const __m512i half = _mm512_castpd_si512(_mm512_set1_pd(0.49999999999999994));
    const __m512i sign = _mm512_set1_epi64(INT64_MIN);
    __m512d v = _mm512_mul_pd(_mm512_cvtepi32_pd(sums), reals);
    v = _mm512_min_pd(high, _mm512_max_pd(low, v));
    const __m512i signed_half =
        _mm512_ternarylogic_epi64(_mm512_castpd_si512(v), sign, half, 0xEA); /* (v & sign) | half */
    return _mm512_cvttpd_epi32(_mm512_add_pd(v, _mm512_castsi512_pd(signed_half)));
}

/* Requantizes whole vectors of bytes of a row; returns how many. */
static int64_t scale_wide(const ml_requantize_f64_args *p, const int32_t *sums, int8_t *y) {
    const ends e = ends_of(p->zero, p->low, p->high);
    const __m512d high = _mm512_set1_pd((double)p->high - p->zero);
    int64_t column = 0;
    for (; column + MOST_VECTORS * COLUMNS <= p->n; column += MOST_VECTORS * COLUMNS) {
        __m512i v[MOST_VECTORS];
        ML_UNROLL(4)
        for (int i = 0; i < MOST_VECTORS; i++) {
            const int32_t *from = sums + column + i * COLUMNS;
            const double *reals = p->reals + column + i * COLUMNS;
            v[i] = scale_real(_mm512_loadu_si512(from), _mm512_loadu_pd(reals),
                              _mm512_loadu_pd(reals + 8), high);
        }
        _mm512_storeu_si512(y + column, to_bytes(v, &e));
    }
    return column;
}

void ml_requantize_f64_avx512(const ml_requantize_f64_args *p) {
    const __m512i zero = _mm512_set1_epi32(p->zero);
    const __m512d low = _mm512_set1_pd((double)p->low - p->zero);
    const __m512d high = _mm512_set1_pd((double)p->high - p->zero);
    int64_t column = 0;
    for (int64_t row = 0; row < p->rows && p->rows < FEW_ROWS; row++)
        column = scale_wide(p, p->sums + row * p->sums_stride, p->y + row * p->y_stride);
    for (; column < p->n; column += COLUMNS) {
        const int64_t count = p->n - column < COLUMNS ? p->n - column : COLUMNS;
        const __mmask16 there = (__mmask16)((1u << count) - 1);
        const __m512d first = _mm512_maskz_loadu_pd((__mmask8)there, p->reals + column);
        const __m512d second = _mm512_maskz_loadu_pd((__mmask8)(there >> 8), p->reals + column + 8);
        const int32_t *sums = p->sums + column;
        int8_t *y = p->y + column;
        for (int64_t row = 0; row < p->rows; row++, sums += p->sums_stride, y += p->y_stride) {
            const __m512i sum = _mm512_maskz_loadu_epi32(there, sums);
            const __m256i low_half = scale(_mm512_castsi512_si256(sum), first, low, high);
            const __m256i high_half = scale(_mm512_extracti64x4_epi64(sum, 1), second, low, high);
            __m512i v = _mm512_inserti64x4(_mm512_castsi256_si512(low_half), high_half, 1);
            v = _mm512_add_epi32(v, zero);
            if (count == COLUMNS) _mm_storeu_si128((__m128i *)(void *)y, _mm512_cvtepi32_epi8(v));
            else _mm_mask_storeu_epi8(y, there, _mm512_cvtepi32_epi8(v));
        }
    }
}
