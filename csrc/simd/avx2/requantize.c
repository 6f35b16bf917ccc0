/* requantize.c -- eight columns at a time, whose multipliers stay in registers from row to
 * row.
 *
 * Products are of even and odd lanes apart, in 64 bits: (v m + 2^30) / 2^31 is a shift of those,
 * right for the even ones, left for the odd ones, whose answer is wanted in the high half. The
 * shift right then rounds half away from zero: up where what is shifted out, less 1 for a negative
 * value, is above half. Every step is exact for all int32.
 *
 * Sums that are known to be small take about half the steps, four rows at a time:
 * avx512/requantize.c says how. */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "simd/variants.h"

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

/* One block of columns, whatever the sums are. */
static void any_sums(const ml_requantize_args *p, int64_t column, int count) {
    const __m256i zero = _mm256_set1_epi32(p->zero), there = first(count);
    const __m256i low = _mm256_set1_epi32(p->low), high = _mm256_set1_epi32(p->high);
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

/* Small sums ----------------------------------------------------------------------------------- */

typedef struct small_block {
    __m256i bias, even, odd, even_rest, odd_rest, up, right;
} small_block;

static inline small_block load_small(const ml_requantize_args *p, int64_t column, __m256i there,
                                     const bool one_sided) {
    const __m256i nothing = _mm256_setzero_si256(), one = _mm256_set1_epi32(1);
    const __m256i m = _mm256_maskload_epi32(p->mantissas + column, there);
    small_block b = {
        .right = _mm256_sub_epi32(nothing, _mm256_maskload_epi32(p->shifts + column, there))};
    const __m256i rounds = _mm256_cmpgt_epi32(b.right, nothing);
    b.bias = _mm256_set1_epi32(INT32_MIN);
    if (p->bias) b.bias = _mm256_add_epi32(b.bias, _mm256_maskload_epi32(p->bias + column, there));
    /* half, or 1 less, where anything is shifted out, less m */
    __m256i rest = _mm256_srli_epi32(_mm256_sllv_epi32(one, b.right), 1);
    if (!one_sided) rest = _mm256_add_epi32(rest, rounds);
    rest = _mm256_sub_epi32(rest, m);
    b.up = _mm256_add_epi32(_mm256_set1_epi32(32),
                            rounds); /* 31 leaves 1 of what is not negative, 32 nothing */
    b.even = _mm256_slli_epi32(m, 1);
    b.odd = _mm256_srli_epi64(b.even, 32);
    const __m256i nudge = _mm256_set1_epi64x(INT64_C(1) << 31);
    b.even_rest = _mm256_add_epi64(_mm256_slli_epi64(rest, 32), nudge);
    b.odd_rest = _mm256_add_epi64(_mm256_blend_epi32(nothing, rest, 0xAA), nudge);
    return b;
}

static inline __m256i scale_small(__m256i sums, const small_block *b, const bool one_sided) {
    const __m256i x = _mm256_add_epi32(sums, b->bias);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epu32(x, b->even), b->even_rest);
    const __m256i odd =
        _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), b->odd), b->odd_rest);
    const __m256i v = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    if (one_sided) return _mm256_srav_epi32(v, b->right);
    return _mm256_srav_epi32(_mm256_add_epi32(v, _mm256_srlv_epi32(x, b->up)), b->right);
}

static inline void put(int8_t *y, __m128i bytes, int count) {
    const int64_t low = _mm_cvtsi128_si64(bytes);
    if (count == LANES) memcpy(y, &low, LANES);
    else memcpy(y, &low, (size_t)count);
}

/* One block of columns, as bytes with a sign or without, which saturate. */
__attribute__((always_inline)) static inline void small_sums(const ml_requantize_args *p,
                                                             int64_t column, int count,
                                                             const bool with_sign,
                                                             const bool one_sided) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7), there = first(count);
    const __m256i low = _mm256_set1_epi8((char)p->low), high = _mm256_set1_epi8((char)p->high);
    const __m256i zero = _mm256_set1_epi16((int16_t)p->zero);
    const small_block block = load_small(p, column, there, one_sided);
    const int32_t *sums = p->sums + column;
    int8_t *y = p->y + column;
    for (int64_t row = 0, step; row < p->rows; row += step) {
        step = row + 4 <= p->rows ? 4 : 1;
        __m256i v[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const int32_t *from = sums + (step == 4 ? i * p->sums_stride : 0);
            v[i] = scale_small(_mm256_maskload_epi32(from, there), &block, one_sided);
        }
        sums += step * p->sums_stride;
        const __m256i front = _mm256_adds_epi16(_mm256_packs_epi32(v[0], v[1]), zero);
        const __m256i back = _mm256_adds_epi16(_mm256_packs_epi32(v[2], v[3]), zero);
        __m256i bytes =
            with_sign ? _mm256_packs_epi16(front, back) : _mm256_packus_epi16(front, back);
        bytes = with_sign ? _mm256_min_epi8(high, _mm256_max_epi8(low, bytes))
                          : _mm256_min_epu8(high, _mm256_max_epu8(low, bytes));
        bytes = _mm256_permutevar8x32_epi32(bytes, order);
        const __m128i two = _mm256_castsi256_si128(bytes),
                      more = _mm256_extracti128_si256(bytes, 1);
        put(y, two, count);
        if (step == 4) {
            put(y + p->y_stride, _mm_unpackhi_epi64(two, two), count);
            put(y + 2 * p->y_stride, more, count);
            put(y + 3 * p->y_stride, _mm_unpackhi_epi64(more, more), count);
        }
        y += step * p->y_stride;
    }
}

/* What is clamped to the zero point or above needs no sign. */
__attribute__((always_inline)) static inline void
some_small_sums(const ml_requantize_args *p, int64_t column, int count, const bool with_sign) {
    if (p->low >= p->zero) small_sums(p, column, count, with_sign, true);
    else small_sums(p, column, count, with_sign, false);
}

/* Whether these columns' sums are small: nothing is shifted to the left, and half of what is
 * shifted out has room above a sum. */
static bool is_small(const ml_requantize_args *p, int64_t column, int count) {
    if (p->limit <= 0 || p->limit > ML_LIMIT_WIDE || p->low < -128 || p->zero < -255 ||
        p->zero > 255 || p->high > (p->low < 0 ? 127 : 255))
        return false;
    const __m256i shifts = _mm256_maskload_epi32(p->shifts + column, first(count));
    const __m256i last = _mm256_set1_epi32(-31),
                  mantissas = _mm256_maskload_epi32(p->mantissas + column, first(count));
    const __m256i large =
        _mm256_cmpgt_epi32(mantissas, _mm256_set1_epi32(ml_most_mantissa(p->limit)));
    __m256i beyond = _mm256_or_si256(_mm256_cmpgt_epi32(shifts, _mm256_setzero_si256()),
                                     _mm256_cmpgt_epi32(last, shifts));
    beyond = _mm256_or_si256(beyond, _mm256_and_si256(large, _mm256_cmpeq_epi32(shifts, last)));
    return _mm256_testz_si256(beyond, beyond);
}

void ml_requantize_avx2(const ml_requantize_args *p) {
    for (int64_t column = 0; column < p->n; column += LANES) {
        const int count = (int)(p->n - column < LANES ? p->n - column : LANES);
        if (!is_small(p, column, count)) any_sums(p, column, count);
        else if (p->low < 0) some_small_sums(p, column, count, true);
        else some_small_sums(p, column, count, false);
    }
}
