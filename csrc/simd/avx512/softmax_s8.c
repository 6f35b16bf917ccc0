/* softmax_s8.c -- 64 bytes of a row at a time, or short rows together. */
#include "simd/variants.h"
#include "simd/avx512/softmax_s8_short.h"

enum { FEW = 16, FLUSH = 512 /* vectors after which sums are flushed to 64 bits */ };

/* max - x, bytes in the order of u8. */
static inline __m512i below(__m512i most, const uint8_t *x, __mmask64 there, __m512i flip) {
    return _mm512_sub_epi8(most, _mm512_xor_si512(_mm512_maskz_loadu_epi8(there, x), flip));
}

static __m512i find_most(const uint8_t *x, int64_t n, __m512i flip) {
    __m512i most = _mm512_setzero_si512();
    for (int64_t at = 0; at < n; at += LANES) {
        const __mmask64 there = first(n - at);
        const __m512i v = _mm512_maskz_loadu_epi8(there, x + at);
        most = _mm512_max_epu8(most, _mm512_maskz_mov_epi8(there, _mm512_xor_si512(v, flip)));
    }
    __m256i half =
        _mm256_max_epu8(_mm512_castsi512_si256(most), _mm512_extracti64x4_epi64(most, 1));
    __m128i v = _mm_max_epu8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    v = _mm_max_epu8(v, _mm_srli_si128(v, 8));
    /* The least of 255 - x among bytes next to each other, then of words. */
    v = _mm_xor_si128(v, _mm_set1_epi8(-1));
    v = _mm_minpos_epu16(_mm_min_epu8(_mm_unpacklo_epi8(v, _mm_setzero_si128()),
                                      _mm_unpacklo_epi8(v, _mm_setzero_si128())));
    return _mm512_set1_epi8((char)~_mm_cvtsi128_si32(v));
}

static int64_t sum_row(const planes *p, const uint8_t *x, int64_t n, __m512i most, __m512i flip) {
    const __m512i half = _mm512_set1_epi32(1 << 11);
    int64_t sum = 0;
    for (int64_t at = 0; at < n;) {
        __m512i sums = _mm512_setzero_si512();
        for (int i = 0; i < FLUSH && at < n; i++, at += LANES) {
            const __mmask64 there = first(n - at);
            __m512i e[VECTORS];
            look_up(p, below(most, x + at, there, flip), there, e);
            ML_UNROLL(4)
            for (int v = 0; v < VECTORS; v++)
                sums = _mm512_add_epi32(sums, _mm512_srli_epi32(_mm512_add_epi32(e[v], half), 12));
        }
        sum += (uint32_t)_mm512_reduce_add_epi32(_mm512_and_si512(sums, _mm512_set1_epi32(0xFFFF)));
        sum += (int64_t)(uint32_t)_mm512_reduce_add_epi32(_mm512_srli_epi32(sums, 16)) << 16;
    }
    return sum;
}

static void softmax_row(const ml_softmax_s8_args *args, const planes *p, const uint8_t *x,
                        uint8_t *y) {
    const __m512i flip = _mm512_set1_epi8(args->is_signed ? (char)128 : 0);
    const __m512i most = find_most(x, args->n, flip);
    const ml_softmax_scale s = ml_softmax_scale_of(sum_row(p, x, args->n, most, flip));
    const __m512i twice = _mm512_set1_epi32((int32_t)((uint32_t)s.reciprocal * 2));
    const __m512i shift = _mm512_set1_epi32(s.shift);
    for (int64_t at = 0; at < args->n; at += LANES) {
        const __mmask64 there = first(args->n - at);
        __m512i v[VECTORS];
        look_up(p, below(most, x + at, there, flip), there, v);
        ML_UNROLL(4)
        for (int i = 0; i < VECTORS; i++) v[i] = scale(v[i], twice, shift);
        _mm512_mask_storeu_epi8(y + at, there, _mm512_xor_si512(join(v), flip));
    }
}

void ml_softmax_s8_avx512(const ml_softmax_s8_args *args) {
    if (args->rows * args->n <= FEW) {
        ml_softmax_s8_scalar(args); /* faster than with planes */
        return;
    }
    const planes p = split(args->exps);
    if (args->n <= SHORT) softmax_short_rows(args, &p);
    else
        for (int64_t row = 0; row < args->rows; row++)
            softmax_row(args, &p, args->x + row * args->n, args->y + row * args->n);
}
