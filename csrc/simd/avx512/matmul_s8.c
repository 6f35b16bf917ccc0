/* matmul_s8.c -- matmul_s8 and product_f32: tiles of 14 rows times two vectors of 16 outputs, or 6
 * times four, whose sums are stored, or become floats in their registers. */
#include <immintrin.h>

#include "simd/variants.h"

#define ROW_AHEAD 4096
#define VECTOR __m512i
#define LANES 16
#define MASK __mmask16
#define MOST_ROWS 14
#define MOST_VECTORS 4
#define MOST_SUMS 28
#define TILES(X)                                                                                 \
    X(1, 4) X(1, 3) X(1, 2) X(1, 1) X(2, 4) X(2, 3) X(2, 2) X(2, 1) X(3, 4) X(3, 3) X(3, 2)      \
    X(3, 1) X(4, 4) X(4, 3) X(4, 2) X(4, 1) X(5, 4) X(5, 3) X(5, 2) X(5, 1) X(6, 4) X(6, 3)      \
    X(6, 2) X(6, 1) X(7, 2) X(7, 1) X(8, 2) X(8, 1) X(9, 2) X(9, 1) X(10, 2) X(10, 1) X(11, 2)   \
    X(11, 1) X(12, 2) X(12, 1) X(13, 2) X(13, 1) X(14, 2) X(14, 1)

#define FIRST(count) ((__mmask16)((1u << (count)) - 1))
#define ZERO() _mm512_setzero_si512()
#define SET(x) _mm512_set1_epi32(x)
#define LOAD(p) _mm512_loadu_si512(p)
#define LOAD_PART(there, p) _mm512_maskz_loadu_epi32(there, p)
#define STORE_PART(p, there, v) _mm512_mask_storeu_epi32(p, there, v)
#define DOT(sum, bytes, weights) _mm512_dpbusd_epi32(sum, bytes, weights)
#define LOAD_BYTES(p, count) _mm512_maskz_loadu_epi8((UINT64_C(1) << (count)) - 1, p)
#define STORE_BYTES(p, v) _mm512_storeu_si512(p, v)
#define ADD(a, b) _mm512_add_epi32(a, b)
#define XOR(a, b) _mm512_xor_si512(a, b)
#define MULTIPLY(a, b) _mm512_mullo_epi32(a, b)
#define REALS __m512
#define LOAD_REALS(there, p) _mm512_maskz_loadu_ps(there, p)
#define SET_REAL(x) _mm512_set1_ps(x)
#define REALS_OF_SUMS(v) _mm512_cvtepi32_ps(v)
#define MULTIPLY_REALS(a, b) _mm512_mul_ps(a, b)
#define CLAMPED(v, bias, low, high) clamped(v, bias, low, high)

static inline __m512i clamped(__m512 v, __m512 bias, __m512 low, __m512 high) {
    const __m512 above = _mm512_max_ps(low, _mm512_add_ps(bias, v));
    return _mm512_castps_si512(_mm512_min_ps(high, above));
}

#include "simd/tiles/matmul_s8_dot.h"

void ml_matmul_s8_avx512(const ml_matmul_s8_args *p) { multiply_lines(p, NULL, 1, 0); }

void ml_product_f32_avx512(const ml_simd *simd, const ml_matmul_s8_args *p,
                           const ml_scale_s32_args *floats, int64_t lines, int64_t line_stride) {
    multiply_lines(p, floats, lines, line_stride);
}
