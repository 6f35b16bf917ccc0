/* narrow_f16.c -- eight at a time by the processor's conversion (F16C), of which a NaN keeps
 * its sign alone. */
#include <immintrin.h>

#include "simd/variants.h"

enum { LANES = 8, PAYLOAD = 0x01FF };

static inline void convert(const float *x, uint16_t *y) {
    const __m256 v = _mm256_loadu_ps(x);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const __m128i lanes =
        _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extracti128_si256(nan, 1));
    const __m128i lost = _mm_and_si128(lanes, _mm_set1_epi16(PAYLOAD));
    const __m128i half = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128((__m128i *)(void *)y, _mm_andnot_si128(lost, half));
}

#define FROM float
#define TO uint16_t
#include "simd/tiles/convert_f16.h"

void ml_narrow_f16_avx2(const float *x, int64_t n, uint16_t *y) { convert_row(x, n, y); }
