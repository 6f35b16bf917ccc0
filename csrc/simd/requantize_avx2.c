/* requantize_avx2.c -- eight columns at a time, whose multipliers stay in registers from row to row.
 *
 * Products are of even and odd lanes apart, in 64 bits: (v m + 2^30) / 2^31 is a shift of those, right for the even ones,
 * left for the odd ones, whose answer is wanted in the high half. The shift right then rounds half away from zero: up where
 * what is shifted out, less 1 for a negative value, is above half. Every step is exact for all int32. */
#include <immintrin.h>
#include <string.h>

#include "simd.h"

enum { LANES = 8 };

typedef struct column_block {
    __m256i bias, left, mantissas, odd_mantissas, right, below, half;
} column_block;

static inline __m256i first(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline column_block load_block(const ml_requantize_args *p, int64_t column, __m256i there) {
    const __m256i nothing = _mm256_setzero_si256(), ones = _mm256_set1_epi32(-1);
    __m256i shifts = _mm256_maskload_epi32(p->shifts + column, there);
    column_block b = {.left = _mm256_max_epi32(shifts, nothing),
                      .mantissas = _mm256_maskload_epi32(p->mantissas + column, there),
                      .right = _mm256_sub_epi32(nothing, _mm256_min_epi32(shifts, nothing))};
    b.bias = p->bias ? _mm256_maskload_epi32(p->bias + column, there) : nothing;
    b.odd_mantissas = _mm256_srli_epi64(b.mantissas, 32);
    b.below = _mm256_andnot_si256(_mm256_sllv_epi32(ones, b.right), ones);
    b.half = _mm256_srli_epi32(b.below, 1);
    return b;
}

/* Eight sums to eight bytes. */
static inline __m128i scale(__m256i v, const column_block *b, __m256i zero, __m256i low,
                            __m256i high) {
    const __m256i nudge = _mm256_set1_epi64x(1 << 30);
    const __m256i low_bytes = _mm256_setr_epi32(0x0C080400, -1, -1, -1, 0x0C080400, -1, -1, -1);
    v = _mm256_sllv_epi32(_mm256_add_epi32(v, b->bias), b->left);
    __m256i even = _mm256_add_epi64(_mm256_mul_epi32(v, b->mantissas), nudge);
    __m256i odd =
        _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(v, 32), b->odd_mantissas), nudge);
    v = _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xAA);
    __m256i rest = _mm256_add_epi32(_mm256_and_si256(v, b->below), _mm256_srai_epi32(v, 31));
    v = _mm256_sub_epi32(_mm256_srav_epi32(v, b->right), _mm256_cmpgt_epi32(rest, b->half));
    v = _mm256_min_epi32(high, _mm256_max_epi32(low, _mm256_add_epi32(v, zero)));
    v = _mm256_shuffle_epi8(v, low_bytes);
    return _mm_unpacklo_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

void ml_requantize_avx2(const ml_requantize_args *p) {
    const __m256i zero = _mm256_set1_epi32(p->zero);
    const __m256i low = _mm256_set1_epi32(p->low), high = _mm256_set1_epi32(p->high);
    for (int64_t column = 0; column < p->n; column += LANES) {
        int count = (int)(p->n - column < LANES ? p->n - column : LANES);
        const __m256i there = first(count);
        const column_block block = load_block(p, column, there);
        const int32_t *sums = p->sums + column;
        int8_t *y = p->y + column;
        for (int64_t row = 0; row < p->rows; row++, sums += p->sums_stride, y += p->y_stride) {
            __m256i v = _mm256_maskload_epi32(sums, there);
            int64_t bytes = _mm_cvtsi128_si64(scale(v, &block, zero, low, high));
            if (count == LANES) memcpy(y, &bytes, LANES);
            else memcpy(y, &bytes, (size_t)count);
        }
    }
}
