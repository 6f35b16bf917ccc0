/* quantize_s8_avx2.c -- eight floats at a time. */
#include <immintrin.h>

#include "simd.h"

enum { LANES = 8 };

typedef struct constants {
    __m256 scale, least, most;
    __m256i zero;
} constants;

/* Of NaN the limits make the least. */
static inline __m256i quantize(const constants *k, __m256 x) {
    __m256 v = _mm256_max_ps(_mm256_div_ps(x, k->scale), k->least);
    v = _mm256_min_ps(v, k->most);
    v = _mm256_add_ps(
        v, _mm256_or_ps(_mm256_set1_ps(0.49999997f), _mm256_and_ps(v, _mm256_set1_ps(-0.0f))));
    return _mm256_add_epi32(_mm256_cvttps_epi32(v), k->zero);
}

static inline void store_bytes(uint8_t *p, __m256i v) {
    v = _mm256_shuffle_epi8(v, _mm256_set1_epi32(0x0C080400));
    _mm_storel_epi64((__m128i *)(void *)p,
                     _mm_unpacklo_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}

void ml_quantize_s8_avx2(const ml_quantize_s8_args *args) {
    const ml_quantize_s8_args p = *args; /* a copy, which stores do not change */
    const int32_t low = p.is_signed ? INT8_MIN : 0;
    const constants k = {_mm256_set1_ps(p.scale), _mm256_set1_ps((float)(low - p.zero)),
                         _mm256_set1_ps((float)(low + 255 - p.zero)), _mm256_set1_epi32(p.zero)};
    int64_t at = 0;
    for (; at + LANES <= p.n; at += LANES)
        store_bytes(p.y + at, quantize(&k, _mm256_loadu_ps(p.x + at)));
    ml_quantize_s8_args rest = p;
    rest.x += at;
    rest.y += at;
    rest.n -= at;
    ml_quantize_s8_scalar(&rest);
}
