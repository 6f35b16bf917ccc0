/* widen_f16_avx2.c -- eight at a time by the processor's conversion (F16C). */
#include <immintrin.h>
#include <string.h>

#include "simd.h"

enum { LANES = 8 };

static inline __m256 widen(const uint16_t *x) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)x));
}

void ml_widen_f16_avx2(const uint16_t *x, int64_t n, float *y) {
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) _mm256_storeu_ps(y + at, widen(x + at));
    if (at >= n) return;
    uint16_t rest[LANES] = {0};
    float wide[LANES];
    memcpy(rest, x + at, (size_t)(n - at) * sizeof *x);
    _mm256_storeu_ps(wide, widen(rest));
    memcpy(y + at, wide, (size_t)(n - at) * sizeof *y);
}
