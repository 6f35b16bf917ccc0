/* narrow_f16.c -- sixteen at a time; a NaN keeps only its sign. */
#include <immintrin.h>

#include "simd/variants.h"

enum { LANES = 16, PAYLOAD = 0x01FF };

static inline __m256i narrow(__m512 v) {
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m256i half = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm256_mask_blend_epi16(nan, half,
                                   _mm256_andnot_si256(_mm256_set1_epi16(PAYLOAD), half));
}

void ml_narrow_f16_avx512(const float *x, int64_t n, uint16_t *y) {
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES)
        _mm256_storeu_si256((__m256i *)(void *)(y + at), narrow(_mm512_loadu_ps(x + at)));
    if (at >= n) return;
    const __mmask16 there = (__mmask16)((1u << (n - at)) - 1);
    _mm256_mask_storeu_epi16(y + at, there, narrow(_mm512_maskz_loadu_ps(there, x + at)));
}
