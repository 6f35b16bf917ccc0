/* fold_u8.c -- extremes of bytes, 64 at a time; lanes after the end of a row have the least
 * value. */
#include "simd/portable/fold_u8.h"

static inline __mmask64 first(int64_t count) {
    return count < LANES_U8 ? ((__mmask64)1 << count) - 1 : ~(__mmask64)0;
}

static inline __m512i load(const uint8_t *x, int64_t left, __m512i flip) {
    return _mm512_xor_si512(_mm512_mask_loadu_epi8(flip, first(left), x), flip);
}

/* The largest byte: by the smallest complement, which minpos finds among 16-bit words. */
static inline uint8_t most_of(__m512i v) {
    const __m256i halves =
        _mm256_max_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    const __m128i most =
        _mm_max_epu8(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    const __m128i less = _mm_xor_si128(most, _mm_set1_epi8(-1));
    const __m128i words = _mm_min_epu8(less, _mm_srli_epi16(less, 8));
    return (uint8_t)~_mm_cvtsi128_si32(_mm_minpos_epu16(words));
}

void ml_fold_u8_avx512(const ml_fold_u8_args *args) {
    if (args->across && args->n >= LANES_U8) {
        fold_across(args);
        return;
    }
    const ml_fold_u8_args p = *args; /* a copy, not read again after each store */
    const __m512i flip = _mm512_set1_epi8((char)p.flip);
    const uint8_t *x = p.x;
    for (int64_t r = 0; r < p.rows; r++, x += p.stride) {
        __m512i most = _mm512_setzero_si512();
        for (int64_t i = 0; i < p.n; i += LANES_U8) {
            const __m512i v = load(x + i, p.n - i, flip);
            if (p.across)
                _mm512_mask_storeu_epi8(
                    p.y + i, first(p.n - i),
                    _mm512_xor_si512(_mm512_max_epu8(load(p.y + i, p.n - i, flip), v), flip));
            else most = _mm512_max_epu8(most, v);
        }
        if (p.across) continue;
        const uint8_t found = most_of(most), was = p.y[r] ^ p.flip;
        p.y[r] = (found > was ? found : was) ^ p.flip;
    }
}
