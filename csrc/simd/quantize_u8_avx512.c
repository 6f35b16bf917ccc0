/* quantize_u8_avx512.c -- sixteen values at a time, tails by masks. */
#include <immintrin.h>

#include "simd.h"

enum { LANES = 16 };

static inline __m128i steps(const ml_quantize_u8_args *p, __m512 x) {
    const __m512 half = _mm512_set1_ps(0.49999997f), sign = _mm512_set1_ps(-0.0f);
    __m512 v = _mm512_mul_ps(x, _mm512_set1_ps(p->inverse));
    v = _mm512_add_ps(_mm512_set1_ps(p->zero), v);
    v = _mm512_min_ps(_mm512_max_ps(v, _mm512_set1_ps(p->low)), _mm512_set1_ps(127.0f));
    const __m512i step =
        _mm512_cvttps_epi32(_mm512_add_ps(v, _mm512_or_ps(half, _mm512_and_ps(sign, v))));
    return _mm_xor_si128(_mm512_cvtepi32_epi8(step), _mm_set1_epi8(-128));
}

void ml_quantize_u8_avx512(const ml_quantize_u8_args *p) {
    int64_t i = 0;
    for (; i + LANES <= p->n; i += LANES)
        _mm_storeu_si128((__m128i *)(void *)(p->y + i), steps(p, _mm512_loadu_ps(p->x + i)));
    const __mmask16 there = (__mmask16)((1u << (p->n - i)) - 1);
    if (there)
        _mm_mask_storeu_epi8(p->y + i, there, steps(p, _mm512_maskz_loadu_ps(there, p->x + i)));
}
