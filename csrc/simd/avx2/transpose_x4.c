/* transpose_x4.c -- squares of eight rows, as transpose_x4.h has them. */
#include "simd/words.h"

#define EQUAL_S32(a, b) _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b))
#define LOOKUP_OR(other, mask, v, index) PICK(mask, _mm256_permutevar8x32_ps(v, index), other)
#define UNPACK_LOW(a, b) _mm256_unpacklo_ps(a, b)
#define UNPACK_HIGH(a, b) _mm256_unpackhi_ps(a, b)
#define SHUFFLE(a, b, lanes) _mm256_shuffle_ps(a, b, lanes)
__attribute__((always_inline)) static inline __m256 FOURS(const uint8_t *p, int64_t step) {
    const __m128 first = _mm_loadu_ps((const float *)(const void *)p);
    const __m128 second = _mm_loadu_ps((const float *)(const void *)(p + step));
    return _mm256_insertf128_ps(_mm256_castps128_ps256(first), second, 1);
}

#include "simd/tiles/transpose_x4.h"

void ml_transpose_x4_avx2(const ml_transpose_args *p) { transpose(p); }
