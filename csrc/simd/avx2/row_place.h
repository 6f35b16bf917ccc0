/* row_place.h -- turns sums of a single row into bytes. Constants of outputs are made where they
 * are used, because no other row needs them. */
#ifndef ML_SIMD_AVX2_ROW_PLACE_H
#define ML_SIMD_AVX2_ROW_PLACE_H

#include "simd/avx2/real_block.h"

typedef struct row_place {
    const ml_matmul_s8_args *p;
    const ml_requantize_args *to;
    block_rule rule;
    ends ends;
    __m256i factor;
    __m256d low, high; /* limits of reals, minus the zero point */
} row_place;

INLINE __m256d some_reals(const double *p, int64_t count, const bool whole) {
    const __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);
    return whole ? _mm256_loadu_pd(p)
                 : _mm256_maskload_pd(p, _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), lanes));
}

/* Scales the sums of eight outputs from `output` on, or of the last `count`, for to_bytes. */
INLINE __m256i scale_row(const row_place *r, int64_t output, int64_t count, const bool whole,
                         __m256i sums) {
    const ml_matmul_s8_args *p = r->p;
    const ml_requantize_args *to = r->to;
    if (p->bias) sums = _mm256_add_epi32(sums, some_columns(p->bias + output, count, whole));
    if (p->factors) {
        const __m256i columns = some_columns(p->columns + output, count, whole);
        sums = _mm256_add_epi32(sums, _mm256_mullo_epi32(r->factor, columns));
    }
    if (to->reals) {
        const double *reals = to->reals + output;
        const __m256d first = some_reals(reals, count, whole);
        return scale_real(sums, first, some_reals(reals + 4, count - 4, whole), r->low, r->high);
    }
    const __m256i m = some_columns(to->mantissas + output, count, whole);
    const __m256i shifts = some_columns(to->shifts + output, count, whole);
    return scale_alone(&r->rule, &r->ends, m, shifts, sums);
}

INLINE void finish_row(const row_place *r, int64_t output, const int vectors, const __m256i *sums) {
    const int64_t left = r->p->n - output;
    int8_t *y = r->to->y + output;
    __m256i v[TOGETHER];
    if (left >= vectors * COLUMNS) {
        ML_UNROLL(4)
        for (int i = 0; i < vectors; i++)
            v[i] = scale_row(r, output + i * COLUMNS, COLUMNS, true, sums[i]);
        const __m256i bytes = to_bytes(v, vectors, &r->ends);
        if (vectors == TOGETHER) _mm256_storeu_si256((__m256i *)(void *)y, bytes);
        else _mm_storeu_si128((__m128i *)(void *)y, _mm256_castsi256_si128(bytes));
        return;
    }
    int8_t bytes[TOGETHER * COLUMNS];
    for (int i = 0; i < TOGETHER; i++) {
        const int64_t count = left - i * COLUMNS;
        v[i] = count > 0 ? scale_row(r, output + i * COLUMNS, count, false, sums[i]) : v[0];
    }
    _mm256_storeu_si256((__m256i *)(void *)bytes, to_bytes(v, TOGETHER, &r->ends));
    memcpy(y, bytes, (size_t)left);
}

static inline row_place row_place_of(const ml_matmul_s8_args *p, const ml_requantize_args *to) {
    ml_requantize_args constants = *to;
    constants.n = p->n;
    return (row_place){.p = p,
                       .to = to,
                       .rule = rule_of(&constants, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
                       .ends = ends_of(to),
                       .factor = _mm256_set1_epi32(p->factors ? *p->factors : 0),
                       .low = _mm256_set1_pd((double)to->low - to->zero),
                       .high = _mm256_set1_pd((double)to->high - to->zero)};
}

#endif
