/* add_s8_avx512.c -- sixteen sums a vector. */
#define ARGS ml_add_s8_args
#define CONSTANTS constants
#include <immintrin.h>

#include "api/minilite.h"
#include "api/simd.h"

typedef struct constants {
    __m512i a_factor, b_factor, offset, negative;
    __m128i shift;
} constants;

__attribute__((always_inline)) static inline constants prepare(const ml_add_s8_args *p) {
    return (constants){_mm512_set1_epi32(p->a_factor), _mm512_set1_epi32(p->b_factor),
                       _mm512_set1_epi32(p->offset), _mm512_set1_epi32(p->negative),
                       _mm_cvtsi32_si128(p->shift)};
}

__attribute__((always_inline)) static inline __m512i compute(const constants *k, __m512i a,
                                                             __m512i b) {
    const __m512i sums =
        _mm512_add_epi32(_mm512_mullo_epi32(a, k->a_factor), _mm512_mullo_epi32(b, k->b_factor));
    const __m512i u = _mm512_add_epi32(sums, k->offset);
    const __mmask16 below = _mm512_cmplt_epi32_mask(u, k->negative);
    const __m512i v = _mm512_mask_add_epi32(u, below, u, _mm512_set1_epi32(-1));
    return _mm512_sra_epi32(v, k->shift);
}

#include "bytes_avx512.h"

void ml_add_s8_avx512(const ml_add_s8_args *p) { run_any(p); }
