/* quantize_s8_avx512.c -- sixteen floats at a time. */
#include <immintrin.h>

#include "simd.h"

enum { LANES = 16 };

typedef struct constants {
    __m512 scale, least, most;
    __m512i zero;
} constants;

/* Of NaN the limits make the least. */
static inline __m512i quantize(const constants *k, __m512 x) {
    __m512 v = _mm512_max_ps(_mm512_div_ps(x, k->scale), k->least);
    v = _mm512_min_ps(v, k->most);
    v = _mm512_add_ps(
        v, _mm512_or_ps(_mm512_set1_ps(0.49999997f), _mm512_and_ps(v, _mm512_set1_ps(-0.0f))));
    return _mm512_add_epi32(_mm512_cvttps_epi32(v), k->zero);
}

void ml_quantize_s8_avx512(const ml_quantize_s8_args *args) {
    const ml_quantize_s8_args p = *args; /* a copy, which stores do not change */
    const int32_t low = p.is_signed ? INT8_MIN : 0;
    const constants k = {_mm512_set1_ps(p.scale), _mm512_set1_ps((float)(low - p.zero)),
                         _mm512_set1_ps((float)(low + 255 - p.zero)), _mm512_set1_epi32(p.zero)};
    int64_t at = 0;
    for (; at + LANES <= p.n; at += LANES)
        _mm_storeu_si128((__m128i *)(void *)(p.y + at),
                         _mm512_cvtepi32_epi8(quantize(&k, _mm512_loadu_ps(p.x + at))));
    if (at == p.n) return;
    const __mmask16 there = (__mmask16)((1u << (p.n - at)) - 1);
    _mm512_mask_cvtepi32_storeu_epi8(p.y + at, there,
                                     quantize(&k, _mm512_maskz_loadu_ps(there, p.x + at)));
}
