/* widen_f16.c -- sixteen at a time. */
#include <immintrin.h>

#include "simd/variants.h"

enum { LANES = 16 };

void ml_widen_f16_avx512(const uint16_t *x, int64_t n, float *y) {
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) {
        const __m256i half = _mm256_loadu_si256((const __m256i *)(const void *)(x + at));
        _mm512_storeu_ps(y + at, _mm512_cvtph_ps(half));
    }
    if (at >= n) return;
    const __mmask16 there = (__mmask16)((1u << (n - at)) - 1);
    _mm512_mask_storeu_ps(y + at, there, _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(there, x + at)));
}
