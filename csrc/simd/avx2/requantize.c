/* requantize.c -- eight columns at a time, whose multipliers stay in registers from row to row;
 * four rows at a time if sums are small. */
#include "simd/avx2/requantize_block.h"
#include "simd/variants.h"

/* Requantizes one block of columns with sums of any size: clamps results and narrows to bytes. */
static void any_sums(const ml_requantize_args *p, int64_t column, const any_block *block,
                     __m256i bias) {
    const __m256i low_bytes = _mm256_setr_epi32(0x0C080400, -1, -1, -1, 0x0C080400, -1, -1, -1);
    const __m256i there = first_lanes(p->n - column);
    const int32_t *sums = p->sums + column;
    int8_t *y = p->y + column;
    for (int64_t row = 0; row < p->rows; row++, sums += p->sums_stride, y += p->y_stride) {
        __m256i v = _mm256_add_epi32(_mm256_maskload_epi32(sums, there), bias);
        v = _mm256_shuffle_epi8(scale_any(v, block, p), low_bytes);
        const __m128i high = _mm256_extracti128_si256(v, 1);
        put(y, _mm_unpacklo_epi32(_mm256_castsi256_si128(v), high), p->n - column);
    }
}

/* Requantizes one block of columns with small sums. */
INLINE void small_sums(const ml_requantize_args *p, int64_t column, const small_block *b,
                       __m256i bias, const bool one_sided) {
    const ends e = ends_of(p);
    const small_block block = *b;
    const __m256i there = first_lanes(p->n - column);
    const __m256i start = _mm256_add_epi32(bias, _mm256_set1_epi32(INT32_MIN));
    const int32_t *sums = p->sums + column;
    int8_t *y = p->y + column;
    for (int64_t row = 0, step; row < p->rows; row += step) {
        step = row + TOGETHER <= p->rows ? TOGETHER : 1;
        __m256i v[TOGETHER];
        ML_UNROLL(4)
        for (int i = 0; i < TOGETHER; i++) {
            const int32_t *from = sums + (step == TOGETHER ? i * p->sums_stride : 0);
            const __m256i x = _mm256_add_epi32(_mm256_maskload_epi32(from, there), start);
            v[i] = scale_small(x, &block, one_sided);
        }
        const __m256i bytes = to_bytes(v, TOGETHER, &e);
        if (step == TOGETHER) put_rows(y, p->y_stride, bytes, TOGETHER, p->n - column);
        else put_rows(y, p->y_stride, bytes, 1, p->n - column);
        sums += step * p->sums_stride;
        y += step * p->y_stride;
    }
}

void ml_requantize_avx2(const ml_requantize_args *p) {
    const __m256i in_turn = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const block_rule rule = rule_of(p, in_turn);
    for (int64_t column = 0; column < p->n; column += COLUMNS) {
        byte_block b;
        load_block(&rule, column, &b);
        const __m256i bias =
            p->bias ? load_columns(p->bias, column, p->n, in_turn) : _mm256_setzero_si256();
        if (!b.is_small) any_sums(p, column, &b.by.any, bias);
        else if (p->low >= p->zero) small_sums(p, column, &b.by.small, bias, true);
        else small_sums(p, column, &b.by.small, bias, false);
    }
}
