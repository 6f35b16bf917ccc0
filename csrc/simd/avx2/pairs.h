/* pairs.h -- the vectors of tiles/matmul_s8_wide.h at avx2: vpmaddwd of bytes widened to 16 bits,
 * tiles of 6 rows times 8 outputs. */
#include "simd/words.h"

#define OUTPUTS 4
#define ROWS 6
#define ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define WEIGHTS(p) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define FOUR(p) four(p)
#define WIDEN_SIXTEEN(from, flip, to) widen_16(from, flip, to)
#define WIDEN_EIGHT(from, flip, to) widen_8(from, flip, to)
#define WIDEN_FOUR(from, flip, to) widen_4(from, flip, to)
/* Adds neighbours; the outputs have the order 0 1 4 5 2 3 6 7. */
#define JOIN_PAIRS(a, b) _mm256_hadd_epi32(a, b)

static inline __m256i four(const int16_t *p) {
    long long values;
    __builtin_memcpy(&values, p, sizeof values);
    return _mm256_set1_epi64x(values);
}

static inline void widen_16(const uint8_t *from, int32_t flip, int16_t *to) {
    const __m128i bytes = _mm_xor_si128(_mm_set1_epi8((char)flip),
                                        _mm_loadu_si128((const __m128i *)(const void *)from));
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_cvtepu8_epi16(bytes));
}

static inline void widen_8(const uint8_t *from, int32_t flip, int16_t *to) {
    const __m128i flipped = _mm_xor_si128(_mm_set1_epi8((char)flip),
                                          _mm_loadl_epi64((const __m128i *)(const void *)from));
    _mm_storeu_si128((__m128i *)(void *)to, _mm_cvtepu8_epi16(flipped));
}

static inline void widen_4(const uint8_t *from, int32_t flip, int16_t *to) {
    int32_t bytes;
    __builtin_memcpy(&bytes, from, sizeof bytes);
    const __m128i flipped = _mm_xor_si128(_mm_set1_epi8((char)flip), _mm_cvtsi32_si128(bytes));
    _mm_storel_epi64((__m128i *)(void *)to, _mm_cvtepu8_epi16(flipped));
}
