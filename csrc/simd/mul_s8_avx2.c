/* mul_s8_avx2.c -- as mul_s8_avx512.c, eight products a vector. */
#define ARGS ml_mul_s8_args
#define CONSTANTS constants
#define SCALAR ml_mul_s8_scalar
#include <immintrin.h>

#include "api/minilite.h"
#include "api/simd.h"

enum { MOST_RIGHT = 20 }; /* so far the zero point can be shifted left */

typedef struct constants {
    __m256i a_zero, b_zero, mantissa, add, rounds;
    __m128i shift;
} constants;

__attribute__((always_inline)) static inline constants prepare(const ml_mul_s8_args *p) {
    const int64_t half = p->shift < 0 ? (int64_t)1 << (-p->shift - 1) : 0;
    const int64_t upper = half + (int64_t)p->zero * ((int64_t)1 << -p->shift);
    return (constants){_mm256_set1_epi32(p->a_zero),
                       _mm256_set1_epi32(p->b_zero),
                       _mm256_set1_epi64x(p->mantissa),
                       _mm256_set1_epi64x(((int64_t)1 << 31) + upper * ((int64_t)1 << 32)),
                       _mm256_set1_epi32(p->shift < 0 ? -1 : 0),
                       _mm_cvtsi32_si128(-p->shift)};
}

__attribute__((always_inline)) static inline __m256i compute(const constants *k, __m256i a,
                                                             __m256i b) {
    const __m256i product =
        _mm256_mullo_epi32(_mm256_sub_epi32(a, k->a_zero), _mm256_sub_epi32(b, k->b_zero));
    const __m256i twice = _mm256_add_epi32(product, product);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(twice, k->mantissa), k->add);
    const __m256i odd =
        _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(twice, 32), k->mantissa), k->add);
    const __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    const __m256i sign = _mm256_and_si256(_mm256_srai_epi32(product, 31), k->rounds);
    return _mm256_sra_epi32(_mm256_add_epi32(high, sign), k->shift);
}

#include "bytes_avx2.h"

static bool is_byte(int32_t x) { return x >= INT8_MIN && x <= UINT8_MAX; }

void ml_mul_s8_avx2(const ml_mul_s8_args *p) {
    const bool near = is_byte(p->a_zero) && is_byte(p->b_zero) && is_byte(p->zero);
    if (!near || p->shift > 0 || p->shift < -MOST_RIGHT) ml_mul_s8_scalar(p);
    else run_any(p);
}
