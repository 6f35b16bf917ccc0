/* matmul_s8.c -- vpmaddwd: tiles of 6 rows times 8 outputs. */
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "simd/variants.h"

#define VECTOR __m256i
#define OUTPUTS 4
#define ROWS 6
#define VECTORS 2
#define ALONE 4
#define ROW_COUNTS(X) X(2) X(3) X(4) X(5) X(6)
#define ZERO() _mm256_setzero_si256()
#define WEIGHTS(p) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define FOUR(p) four(p)
#define WIDEN(from, flip, to) widen_16(from, flip, to)
#define ADD_PAIRS(a, w, sum) add_pairs(a, w, sum)
#define JOIN(a, b, y) join(a, b, y)

/* In the register of the sum: compilers add elsewhere and move it back. */
static inline __m256i add_pairs(__m256i a, __m256i w, __m256i sum) {
    const __m256i pairs = _mm256_madd_epi16(a, w);
    __asm__("vpaddd %1, %0, %0" : "+x"(sum) : "x"(pairs));
    return sum;
}

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

static inline void join(__m256i a, __m256i b, int32_t *y) {
    const __m256i sums = _mm256_hadd_epi32(a, b);
    _mm256_storeu_si256((__m256i *)(void *)y, _mm256_permute4x64_epi64(sums, 0xD8));
}

#include "simd/tiles/matmul_s8_wide.h"

void ml_matmul_s8_avx2(const ml_matmul_s8_args *p) { multiply(p); }
