/* dequantize_s8_avx512.c -- sixteen bytes at a time. */
#include <immintrin.h>

#include "simd.h"

enum { LANES = 16 };

static inline __m512i widen(__m128i bytes, int32_t is_signed) {
    return is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
}

static inline __m512 real(__m512i x, __m512 scale, __m512i zero) {
    return _mm512_mul_ps(scale, _mm512_cvtepi32_ps(_mm512_sub_epi32(x, zero)));
}

void ml_dequantize_s8_avx512(const ml_quantize_s8_args *args) {
    const ml_quantize_s8_args p = *args; /* a copy, which stores do not change */
    const __m512 scale = _mm512_set1_ps(p.scale);
    const __m512i zero = _mm512_set1_epi32(p.zero);
    int64_t at = 0;
    for (; at + LANES <= p.n; at += LANES) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p.y + at));
        _mm512_storeu_ps(p.x + at, real(widen(bytes, p.is_signed), scale, zero));
    }
    if (at == p.n) return;
    const __mmask16 there = (__mmask16)((1u << (p.n - at)) - 1);
    const __m128i bytes = _mm_maskz_loadu_epi8(there, p.y + at);
    _mm512_mask_storeu_ps(p.x + at, there, real(widen(bytes, p.is_signed), scale, zero));
}
