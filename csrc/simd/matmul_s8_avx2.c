/* matmul_s8_avx2.c -- vpmaddwd: tiles of 2 rows times 16 outputs. */
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define FUNCTION ml_matmul_s8_avx2
#define VECTOR __m256i
#define OUTPUTS 4
#define ROWS 2
#define VECTORS 4
#define ROW_COUNTS(X) X(1) X(2)
#define ZERO() _mm256_setzero_si256()
#define WEIGHTS(p) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define FOUR(p) four(p)
#define ADD_PAIRS(a, w, sum) _mm256_add_epi32(_mm256_madd_epi16(a, w), sum)
#define JOIN(sums, y) join(sums, y)

static inline __m256i four(const int16_t *p) {
    long long values;
    __builtin_memcpy(&values, p, sizeof values);
    return _mm256_set1_epi64x(values);
}

/* The pairs of two vectors added: eight sums. */
static inline __m256i pairs(__m256i a, __m256i b) {
    return _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xD8);
}

static inline void join(const __m256i *sums, int32_t *y) {
    _mm256_storeu_si256((__m256i *)(void *)y, pairs(sums[0], sums[1]));
    _mm256_storeu_si256((__m256i *)(void *)(y + 8), pairs(sums[2], sums[3]));
}

#include "matmul_s8_wide.h"
