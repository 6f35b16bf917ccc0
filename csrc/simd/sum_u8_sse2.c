/* sum_u8_sse2.c -- sixteen bytes at a time by psadbw. */
#include <emmintrin.h>

#include "simd.h"

int32_t ml_sum_u8_sse2(const uint8_t *x, int64_t n) {
    __m128i sums = _mm_setzero_si128();
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(x + i));
        sums = _mm_add_epi64(sums, _mm_sad_epu8(bytes, _mm_setzero_si128()));
    }
    uint32_t sum = (uint32_t)_mm_cvtsi128_si32(sums) +
                   (uint32_t)_mm_cvtsi128_si32(_mm_unpackhi_epi64(sums, sums));
    for (; i < n; i++) sum += x[i];
    return (int32_t)sum;
}
