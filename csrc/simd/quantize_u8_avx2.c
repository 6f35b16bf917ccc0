/* quantize_u8_avx2.c -- 32 values at a time, the last ones by way of a copy. */
#include <immintrin.h>
#include <string.h>

#include "simd.h"

enum { LANES = 8, AT_ONCE = 32 };

static inline __m256i steps(const ml_quantize_u8_args *p, const float *x) {
    const __m256 half = _mm256_set1_ps(0.49999997f), sign = _mm256_set1_ps(-0.0f);
    __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x), _mm256_set1_ps(p->inverse));
    v = _mm256_add_ps(_mm256_set1_ps(p->zero), v);
    v = _mm256_min_ps(_mm256_max_ps(v, _mm256_set1_ps(p->low)), _mm256_set1_ps(127.0f));
    return _mm256_cvttps_epi32(_mm256_add_ps(v, _mm256_or_ps(half, _mm256_and_ps(sign, v))));
}

static inline void quantize(const ml_quantize_u8_args *p, const float *x, uint8_t *y) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i low = _mm256_packs_epi32(steps(p, x), steps(p, x + LANES));
    const __m256i high = _mm256_packs_epi32(steps(p, x + 2 * LANES), steps(p, x + 3 * LANES));
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
    _mm256_storeu_si256((__m256i *)(void *)y, _mm256_xor_si256(bytes, _mm256_set1_epi8(-128)));
}

void ml_quantize_u8_avx2(const ml_quantize_u8_args *p) {
    int64_t i = 0;
    for (; i + AT_ONCE <= p->n; i += AT_ONCE) quantize(p, p->x + i, p->y + i);
    if (i == p->n) return;
    float x[AT_ONCE] = {0};
    uint8_t y[AT_ONCE];
    memcpy(x, p->x + i, (size_t)(p->n - i) * sizeof *x);
    quantize(p, x, y);
    memcpy(p->y + i, y, (size_t)(p->n - i));
}
