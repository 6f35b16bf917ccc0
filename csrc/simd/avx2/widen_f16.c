/* widen_f16.c -- eight at a time by the processor's conversion (F16C). */
#include <immintrin.h>

#include "simd/variants.h"

enum { LANES = 8 };

static inline void convert(const uint16_t *x, float *y) {
    _mm256_storeu_ps(y, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)x)));
}

#define FROM uint16_t
#define TO float
#include "simd/tiles/convert_f16.h"

void ml_widen_f16_avx2(const uint16_t *x, int64_t n, float *y) { convert_row(x, n, y); }
