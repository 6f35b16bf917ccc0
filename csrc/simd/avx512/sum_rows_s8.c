/* sum_rows_s8.c -- along rows, sums of sixteen rows at a time, which are combined at the end. */
#include <immintrin.h>
#include <stdbool.h>

#include "simd/variants.h"

#define INLINE __attribute__((always_inline)) static inline

ml_sum_rows_s8_fn ml_sum_rows_s8_avx2;

enum { WIDE = 64, TOGETHER = 16 };

/* Adds sums of four neighbours to `sum`; one side of the product is unsigned. */
INLINE __m512i add_fours(__m512i sum, __m512i x, const bool is_signed) {
    const __m512i ones = _mm512_set1_epi8(1);
    return is_signed ? _mm512_dpbusd_epi32(sum, ones, x) : _mm512_dpbusd_epi32(sum, x, ones);
}

INLINE __m512i sum_row(const uint8_t *x, int64_t n, __mmask64 rest, const bool is_signed) {
    __m512i sum = _mm512_setzero_si512();
    for (; n >= WIDE; n -= WIDE, x += WIDE) sum = add_fours(sum, _mm512_loadu_si512(x), is_signed);
    return add_fours(sum, _mm512_maskz_loadu_epi8(rest, x), is_signed);
}

/* Lane i of the result: the lanes of v[i]. */
INLINE __m512i add_lanes(__m512i v[TOGETHER]) {
    ML_UNROLL(8)
    for (int i = 0; i < 8; i++)
        v[i] = _mm512_add_epi32(_mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]),
                                _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]));
    ML_UNROLL(4)
    for (int i = 0; i < 4; i++)
        v[i] = _mm512_add_epi32(_mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]),
                                _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]));
    ML_UNROLL(2)
    for (int i = 0; i < 2; i++)
        v[i] = _mm512_add_epi32(_mm512_shuffle_i32x4(v[2 * i], v[2 * i + 1], 0x88),
                                _mm512_shuffle_i32x4(v[2 * i], v[2 * i + 1], 0xDD));
    return _mm512_add_epi32(_mm512_shuffle_i32x4(v[0], v[1], 0x88),
                            _mm512_shuffle_i32x4(v[0], v[1], 0xDD));
}

INLINE void add_sixteens(const ml_sum_rows_s8_args *p, const bool is_signed) {
    const int64_t n = p->n, stride = p->stride;
    const __mmask64 rest = ((__mmask64)1 << n % WIDE) - 1;
    for (int64_t r = 0; r < p->rows; r += TOGETHER) {
        const int64_t left = p->rows - r;
        const uint8_t *x = p->x + r * stride;
        const __mmask16 there = left < TOGETHER ? (__mmask16)((1u << left) - 1) : 0xFFFF;
        __m512i v[TOGETHER];
        if (left >= TOGETHER && n < WIDE) ML_UNROLL(16)
        for (int i = 0; i < TOGETHER; i++) v[i] = sum_row(x + i * stride, 0, rest, is_signed);
        else if (left >= TOGETHER) for (int i = 0; i < TOGETHER; i++) v[i] =
            sum_row(x + i * stride, n, rest, is_signed);
        else for (int i = 0; i < TOGETHER; i++) v[i] =
            i < left ? sum_row(x + i * stride, n, rest, is_signed) : _mm512_setzero_si512();
        const __m512i before = _mm512_maskz_loadu_epi32(there, p->sums + r);
        _mm512_mask_storeu_epi32(p->sums + r, there, _mm512_add_epi32(before, add_lanes(v)));
    }
}

static void add_along(const ml_sum_rows_s8_args *args) {
    const ml_sum_rows_s8_args p = *args; /* a copy, not read again after each store */
    if (p.is_signed) add_sixteens(&p, true);
    else add_sixteens(&p, false);
}

void ml_sum_rows_s8_avx512(const ml_sum_rows_s8_args *p) {
    if (p->along) add_along(p);
    else ml_sum_rows_s8_avx2(p);
}
