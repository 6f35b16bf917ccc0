/* add_s8_avx2.c -- eight sums a vector. */
#define ARGS ml_add_s8_args
#define CONSTANTS constants
#define SCALAR ml_add_s8_scalar
#include <immintrin.h>

#include "api/minilite.h"
#include "api/simd.h"

typedef struct constants {
    __m256i a_factor, b_factor, offset, negative;
    __m128i shift;
} constants;

__attribute__((always_inline)) static inline constants prepare(const ml_add_s8_args *p) {
    return (constants){_mm256_set1_epi32(p->a_factor), _mm256_set1_epi32(p->b_factor),
                       _mm256_set1_epi32(p->offset), _mm256_set1_epi32(p->negative),
                       _mm_cvtsi32_si128(p->shift)};
}

__attribute__((always_inline)) static inline __m256i compute(const constants *k, __m256i a,
                                                             __m256i b) {
    const __m256i sums =
        _mm256_add_epi32(_mm256_mullo_epi32(a, k->a_factor), _mm256_mullo_epi32(b, k->b_factor));
    const __m256i u = _mm256_add_epi32(sums, k->offset);
    return _mm256_sra_epi32(_mm256_add_epi32(u, _mm256_cmpgt_epi32(k->negative, u)), k->shift);
}

#include "bytes_avx2.h"

void ml_add_s8_avx2(const ml_add_s8_args *p) { run_any(p); }
