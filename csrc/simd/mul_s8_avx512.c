/* mul_s8_avx512.c -- sixteen products a vector, requantized in 64 bits.
 *
 * The mantissa times twice a product, plus 2^31, has the high product in its upper half. One constant adds to it what the shift right
 * needs to round half away from zero, and the zero point: half, less 1 where the product is negative. */
#define ARGS ml_mul_s8_args
#define CONSTANTS constants
#include <immintrin.h>

#include "api/minilite.h"
#include "api/simd.h"

enum { MOST_RIGHT = 20 }; /* so far the zero point can be shifted left */

typedef struct constants {
    __m512i a_zero, b_zero, mantissa, add;
    __m128i shift;
    __mmask16 rounds;
} constants;

__attribute__((always_inline)) static inline constants prepare(const ml_mul_s8_args *p) {
    const int64_t half = p->shift < 0 ? (int64_t)1 << (-p->shift - 1) : 0;
    const int64_t upper = half + (int64_t)p->zero * ((int64_t)1 << -p->shift);
    return (constants){_mm512_set1_epi32(p->a_zero),
                       _mm512_set1_epi32(p->b_zero),
                       _mm512_set1_epi64(p->mantissa),
                       _mm512_set1_epi64(((int64_t)1 << 31) + upper * ((int64_t)1 << 32)),
                       _mm_cvtsi32_si128(-p->shift),
                       p->shift < 0 ? 0xFFFF : 0};
}

__attribute__((always_inline)) static inline __m512i compute(const constants *k, __m512i a,
                                                             __m512i b) {
    const __m512i product =
        _mm512_mullo_epi32(_mm512_sub_epi32(a, k->a_zero), _mm512_sub_epi32(b, k->b_zero));
    const __m512i twice = _mm512_add_epi32(product, product);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(twice, k->mantissa), k->add);
    const __m512i odd =
        _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(twice, 32), k->mantissa), k->add);
    const __m512i high = _mm512_castps_si512(
        _mm512_mask_movehdup_ps(_mm512_castsi512_ps(odd), 0x5555, _mm512_castsi512_ps(even)));
    const __m512i sign = _mm512_srai_epi32(product, 31);
    return _mm512_sra_epi32(_mm512_mask_add_epi32(high, k->rounds, high, sign), k->shift);
}

#include "bytes_avx512.h"

static bool is_byte(int32_t x) { return x >= INT8_MIN && x <= UINT8_MAX; }

void ml_mul_s8_avx512(const ml_mul_s8_args *p) {
    const bool near = is_byte(p->a_zero) && is_byte(p->b_zero) && is_byte(p->zero);
    if (!near || p->shift > 0 || p->shift < -MOST_RIGHT) ml_mul_s8_scalar(p);
    else run_any(p);
}
