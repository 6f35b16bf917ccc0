/* dequantize_s8_avx2.c -- eight bytes at a time. */
#include <immintrin.h>

#include "simd.h"

enum { LANES = 8 };

static inline __m256i widen(__m128i bytes, int32_t is_signed) {
    return is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
}

static inline __m256 real(__m256i x, __m256 scale, __m256i zero) {
    return _mm256_mul_ps(scale, _mm256_cvtepi32_ps(_mm256_sub_epi32(x, zero)));
}

void ml_dequantize_s8_avx2(const ml_quantize_s8_args *args) {
    const ml_quantize_s8_args p = *args; /* a copy, which stores do not change */
    const __m256 scale = _mm256_set1_ps(p.scale);
    const __m256i zero = _mm256_set1_epi32(p.zero);
    int64_t at = 0;
    for (; at + LANES <= p.n; at += LANES) {
        const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(p.y + at));
        _mm256_storeu_ps(p.x + at, real(widen(bytes, p.is_signed), scale, zero));
    }
    ml_quantize_s8_args rest = p;
    rest.x += at;
    rest.y += at;
    rest.n -= at;
    ml_dequantize_s8_scalar(&rest);
}
