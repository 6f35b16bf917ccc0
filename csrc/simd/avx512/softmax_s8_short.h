/* softmax_s8_short.h -- rows of up to 16 bytes, as many at a time as fit 64 bytes. Each row is in a
 * group of 4, 8 or 16 bytes, so that its maximum and its sum stay within a lane of 16 bytes, and
 * all reciprocals of a vector are computed at once. */
#ifndef ML_SIMD_SOFTMAX_S8_SHORT_AVX512_H
#define ML_SIMD_SOFTMAX_S8_SHORT_AVX512_H

#include "simd/avx512/softmax_s8_planes.h"

enum { SHORT = 16 };

/* The maximum of each group, in all its bytes. */
static inline __m512i most_of_groups(__m512i v, const int group) {
    if (group == 4) {
        v = _mm512_max_epu8(v, _mm512_ror_epi32(v, 8));
        return _mm512_max_epu8(v, _mm512_ror_epi32(v, 16));
    }
    v = _mm512_max_epu8(v, _mm512_ror_epi64(v, 8));
    v = _mm512_max_epu8(v, _mm512_ror_epi64(v, 16));
    v = _mm512_max_epu8(v, _mm512_ror_epi64(v, 32));
    return group == 8 ? v : _mm512_max_epu8(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC));
}

/* The sums of groups; that of e[k] is at position k of each lane. */
static inline __m512i sums_of_groups(const __m512i e[VECTORS], const int group) {
    const __m512i half = _mm512_set1_epi32(1 << 11);
    __m512i sums[VECTORS];
    ML_UNROLL(4)
    for (int k = 0; k < VECTORS; k++) sums[k] = _mm512_srli_epi32(_mm512_add_epi32(e[k], half), 12);
    if (group >= 8) sums[0] = sums[1] = _mm512_add_epi32(sums[0], sums[1]);
    if (group >= 8) sums[2] = sums[3] = _mm512_add_epi32(sums[2], sums[3]);
    if (group == 16) sums[0] = sums[1] = sums[2] = sums[3] = _mm512_add_epi32(sums[0], sums[2]);
    ML_UNROLL(4)
    for (int k = 0; k < VECTORS; k++) {
        sums[k] = _mm512_add_epi32(sums[k], _mm512_shuffle_epi32(sums[k], _MM_PERM_BADC));
        sums[k] = _mm512_add_epi32(sums[k], _mm512_shuffle_epi32(sums[k], _MM_PERM_CDAB));
    }
    const __m512i low = _mm512_mask_blend_epi32(0x2222, sums[0], sums[1]);
    const __m512i high = _mm512_mask_blend_epi32(0x8888, sums[2], sums[3]);
    return _mm512_mask_blend_epi32(0xCCCC, low, high);
}

/* ml_doubling_high_mul. */
static inline __m512i high_mul(__m512i a, __m512i b) {
    const __m512i nudge = _mm512_set1_epi64(INT64_C(1) << 30);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(a, b), nudge);
    const __m512i odd = _mm512_add_epi64(
        _mm512_mul_epi32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32)), nudge);
    return _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1));
}

/* ml_softmax_scale_of: twice the reciprocals, and shifts. */
static inline __m512i scales_of(__m512i sums, __m512i *shift) {
    const __m512i least = _mm512_max_epu32(sums, _mm512_set1_epi32(1)); /* for groups without a
                                                                          * row */
    const __m512 real = _mm512_cvt_roundepu32_ps(least, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __m512i exponent = _mm512_srli_epi32(_mm512_castps_si512(real), 23);
    const __m512i headroom = _mm512_sub_epi32(_mm512_set1_epi32(127 + 31), exponent);
    const __m512i half_denominator = _mm512_srli_epi32(_mm512_sllv_epi32(least, headroom), 1);
    __m512i r = _mm512_add_epi32(_mm512_set1_epi32(1515870810),
                                 high_mul(_mm512_set1_epi32(-1010580540), half_denominator));
    ML_UNROLL(3)
    for (int step = 0; step < 3; step++) {
        const __m512i error =
            _mm512_sub_epi32(_mm512_set1_epi32(1 << 29), high_mul(half_denominator, r));
        r = _mm512_add_epi32(r, _mm512_slli_epi32(high_mul(error, r), 2));
    }
    *shift = _mm512_sub_epi32(_mm512_set1_epi32(12 + 31 - 8), headroom);
    const __m512i reciprocal =
        _mm512_min_epu32(_mm512_slli_epi32(r, 1), _mm512_set1_epi32(INT32_MAX));
    return _mm512_slli_epi32(reciprocal, 1);
}

/* Computes the bytes of groups `v`; `there` has the bytes that belong to rows. */
static inline __m512i softmax_groups(const planes *p, __m512i v, __mmask64 there, const int group) {
    __m512i e[VECTORS], shift;
    look_up(p, _mm512_sub_epi8(most_of_groups(v, group), v), there, e);
    const __m512i twice = scales_of(sums_of_groups(e, group), &shift);
    e[0] = scale(e[0], _mm512_shuffle_epi32(twice, 0x00), _mm512_shuffle_epi32(shift, 0x00));
    e[1] = scale(e[1], _mm512_shuffle_epi32(twice, 0x55), _mm512_shuffle_epi32(shift, 0x55));
    e[2] = scale(e[2], _mm512_shuffle_epi32(twice, 0xAA), _mm512_shuffle_epi32(shift, 0xAA));
    e[3] = scale(e[3], _mm512_shuffle_epi32(twice, 0xFF), _mm512_shuffle_epi32(shift, 0xFF));
    return join(e);
}

__attribute__((always_inline)) static inline void
softmax_rows_of(const ml_softmax_s8_args *args, const planes *p, const int group) {
    const int64_t n = args->n, together = LANES / group, all = args->rows * n;
    const __m512i flip = _mm512_set1_epi8(args->is_signed ? (char)128 : 0);
    uint8_t apart[LANES] = {0},
            close[LANES] = {0}; /* a group's bytes among rows', and the reverse */
    for (int64_t row = 0; row < together; row++)
        for (int64_t i = 0; i < n; i++) {
            apart[row * group + i] = (uint8_t)(row * n + i);
            close[row * n + i] = (uint8_t)(row * group + i);
        }
    const __mmask64 in_row =
        (~(__mmask64)0 / (((__mmask64)1 << group) - 1)) * (((__mmask64)1 << n) - 1);
    const __m512i to_groups = _mm512_loadu_si512(apart), to_rows = _mm512_loadu_si512(close);
    for (int64_t at = 0; at < all; at += together * n) {
        const int64_t bytes = all - at < together * n ? all - at : together * n;
        const __mmask64 given = first(bytes), there = in_row & first(bytes / n * group);
        const __m512i x = _mm512_maskz_loadu_epi8(given, args->x + at);
        const __m512i v =
            _mm512_maskz_permutexvar_epi8(there, to_groups, _mm512_xor_si512(x, flip));
        const __m512i y = _mm512_permutexvar_epi8(to_rows, softmax_groups(p, v, there, group));
        _mm512_mask_storeu_epi8(args->y + at, given, _mm512_xor_si512(y, flip));
    }
}

static void softmax_short_rows(const ml_softmax_s8_args *args, const planes *p) {
    if (args->n <= 4) softmax_rows_of(args, p, 4);
    else if (args->n <= 8) softmax_rows_of(args, p, 8);
    else softmax_rows_of(args, p, 16);
}

#endif
