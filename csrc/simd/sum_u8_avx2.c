/* sum_u8_avx2.c -- 32 bytes at a time by vpsadbw. */
#include <immintrin.h>

#include "simd.h"

int32_t ml_sum_u8_avx2(const uint8_t *x, int64_t n) {
    __m256i sums = _mm256_setzero_si256();
    int64_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
    }
    __m128i pair = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    if (i + 16 <= n) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(x + i));
        pair = _mm_add_epi64(pair, _mm_sad_epu8(bytes, _mm_setzero_si128()));
        i += 16;
    }
    uint32_t sum = (uint32_t)_mm_cvtsi128_si32(pair) +
                   (uint32_t)_mm_cvtsi128_si32(_mm_unpackhi_epi64(pair, pair));
    for (; i < n; i++) sum += x[i];
    return (int32_t)sum;
}
