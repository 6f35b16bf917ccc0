/* requantize_avx512.c -- as requantize_avx2.c, sixteen columns at a time, tails by masks. */
#include <immintrin.h>

#include "simd.h"

enum { LANES = 16 };

typedef struct column_block {
    __m512i bias, left, mantissas, odd_mantissas, right, below, half;
} column_block;

static inline column_block load_block(const ml_requantize_args *p, int64_t column,
                                      __mmask16 there) {
    const __m512i nothing = _mm512_setzero_si512(), ones = _mm512_set1_epi32(-1);
    __m512i shifts = _mm512_maskz_loadu_epi32(there, p->shifts + column);
    column_block b = {.left = _mm512_max_epi32(shifts, nothing),
                      .mantissas = _mm512_maskz_loadu_epi32(there, p->mantissas + column),
                      .right = _mm512_sub_epi32(nothing, _mm512_min_epi32(shifts, nothing))};
    b.bias = p->bias ? _mm512_maskz_loadu_epi32(there, p->bias + column) : nothing;
    b.odd_mantissas = _mm512_srli_epi64(b.mantissas, 32);
    b.below = _mm512_andnot_si512(_mm512_sllv_epi32(ones, b.right), ones);
    b.half = _mm512_srli_epi32(b.below, 1);
    return b;
}

/* Sixteen sums to sixteen bytes. */
static inline __m128i scale(__m512i v, const column_block *b, __m512i zero, __m512i low,
                            __m512i high) {
    const __m512i nudge = _mm512_set1_epi64(1 << 30), ones = _mm512_set1_epi32(-1);
    v = _mm512_sllv_epi32(_mm512_add_epi32(v, b->bias), b->left);
    __m512i even = _mm512_add_epi64(_mm512_mul_epi32(v, b->mantissas), nudge);
    __m512i odd =
        _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(v, 32), b->odd_mantissas), nudge);
    v = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1));
    __m512i rest = _mm512_add_epi32(_mm512_and_si512(v, b->below), _mm512_srai_epi32(v, 31));
    __mmask16 up = _mm512_cmpgt_epi32_mask(rest, b->half);
    v = _mm512_srav_epi32(v, b->right);
    v = _mm512_add_epi32(_mm512_mask_sub_epi32(v, up, v, ones), zero);
    return _mm512_cvtepi32_epi8(_mm512_min_epi32(high, _mm512_max_epi32(low, v)));
}

void ml_requantize_avx512(const ml_requantize_args *p) {
    const __m512i zero = _mm512_set1_epi32(p->zero);
    const __m512i low = _mm512_set1_epi32(p->low), high = _mm512_set1_epi32(p->high);
    for (int64_t column = 0; column < p->n; column += LANES) {
        int64_t count = p->n - column < LANES ? p->n - column : LANES;
        const __mmask16 there = (__mmask16)((1u << count) - 1);
        const column_block block = load_block(p, column, there);
        const int32_t *sums = p->sums + column;
        int8_t *y = p->y + column;
        for (int64_t row = 0; row < p->rows; row++, sums += p->sums_stride, y += p->y_stride) {
            __m512i v = _mm512_maskz_loadu_epi32(there, sums);
            __m128i bytes = scale(v, &block, zero, low, high);
            if (count == LANES) _mm_storeu_si128((__m128i *)(void *)y, bytes);
            else _mm_mask_storeu_epi8(y, there, bytes);
        }
    }
}
