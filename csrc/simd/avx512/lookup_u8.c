/* lookup_u8.c -- the table is in four vectors: a permutation of two vectors for each half; the sign
 * of the byte selects the half. */
#include <immintrin.h>

#include "simd/variants.h"

enum { LANES = 64 };

static inline __m512i look_up(__m512i v, __m512i a, __m512i b, __m512i c, __m512i d) {
    const __m512i low = _mm512_permutex2var_epi8(a, v, b);
    const __m512i high = _mm512_permutex2var_epi8(c, v, d);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high);
}

void ml_lookup_u8_avx512(const uint8_t *table, const ml_byte_lines *lines, const uint8_t *x,
                         int64_t n, uint8_t *y) {
    const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + LANES);
    const __m512i c = _mm512_loadu_si512(table + 2 * LANES);
    const __m512i d = _mm512_loadu_si512(table + 3 * LANES);
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES)
        _mm512_storeu_si512(y + at, look_up(_mm512_loadu_si512(x + at), a, b, c, d));
    if (at == n) return;
    const __mmask64 there = ((__mmask64)1 << (n - at)) - 1;
    const __m512i v = _mm512_maskz_loadu_epi8(there, x + at);
    _mm512_mask_storeu_epi8(y + at, there, look_up(v, a, b, c, d));
}
