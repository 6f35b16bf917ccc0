/* vector_avx512.h -- vectors of sixteen floats, in the words in which loops over floats are written
 * once for all levels: each level has a header like this one, included by that level's files alone.
 *
 * MAX and MIN give their second operand where one is NaN, and of zeros of either sign; LESS,
 * LESS_EQUAL and EQUAL are false there. PICK(mask, a, b) is a where the mask is set. FMA(a, b, c)
 * is a b + c, FNMA(a, b, c) c - a b, rounded once where FUSED is defined. ROUND is to nearest, ties
 * to even. VECTOR_S32 is a vector of as many int32: FLOATS and NEAREST_S32 take one into the other,
 * BITS_OF and OF_BITS leave the bits as they are; sums wrap. Parts are the first `count` lanes, 1
 * <= count < LANES; nothing else is read or written, and they load as 0. Where they are not MASKED
 * they take longer than a few plain elements. */
#ifndef ML_SIMD_VECTOR_AVX512_H
#define ML_SIMD_VECTOR_AVX512_H

#include <immintrin.h>

enum { LANES = 16 };
#define VECTOR __m512
#define MASK __mmask16
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define FIRST(count) ((__mmask16)((1u << (count)) - 1))
#define MASKED 1
#define LOAD_PART(p, count) _mm512_maskz_loadu_ps(FIRST(count), p)
#define STORE_PART(p, v, count) _mm512_mask_storeu_ps(p, FIRST(count), v)
#define SPLAT(x) _mm512_set1_ps(x)
#define ADD(a, b) _mm512_add_ps(a, b)
#define SUB(a, b) _mm512_sub_ps(a, b)
#define MUL(a, b) _mm512_mul_ps(a, b)
#define DIV(a, b) _mm512_div_ps(a, b)
#define SQRT(a) _mm512_sqrt_ps(a)
/* Within 2 ULP: an estimate of 14 bits, and what it lacks to the third power; of 0 and infinity as
 * it stands. */
static inline __m512 RSQRT(__m512 a) {
    const __mmask16 ends = _mm512_fpclass_ps_mask(a, 0x02 | 0x04 | 0x08 | 0x10);
    const __m512 y = _mm512_rsqrt14_ps(a), one = _mm512_set1_ps(1.0f);
    const __m512 lack = _mm512_fnmadd_ps(_mm512_mul_ps(a, y), y, one);
    const __m512 rise = _mm512_fmadd_ps(lack, _mm512_set1_ps(0.375f), _mm512_set1_ps(0.5f));
    return _mm512_mask_blend_ps(ends, _mm512_fmadd_ps(_mm512_mul_ps(y, lack), rise, y), y);
}
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define FNMA(a, b, c) _mm512_fnmadd_ps(a, b, c)
#define FUSED 1
#define MAX(a, b) _mm512_max_ps(a, b)
#define MIN(a, b) _mm512_min_ps(a, b)
#define LESS(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define LESS_EQUAL(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ)
#define EQUAL(a, b) _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ)
#define NOT_EQUAL(a, b) _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ)
#define PICK(mask, a, b) _mm512_mask_blend_ps(mask, b, a)
#define ANY(mask) ((mask) != 0)
#define ABS(a) _mm512_abs_ps(a)
#define XOR(a, b) _mm512_xor_ps(a, b)
#define SIGN(a) _mm512_and_ps(_mm512_set1_ps(-0.0f), a)
#define ROUND(a) _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define NEAREST(a) ROUND(a)
#define FLOOR(a) _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define CEIL(a) _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)
/* v * 2^n, rounded once, of n rounded down. */
#define SCALE(v, n) _mm512_scalef_ps(v, n)
/* x = m * 2^e, 3/4 <= m < 3/2; 0 has e = -infinity, infinity has e = infinity, m is NaN for numbers
 * below 0. */
#define SPLIT_IS_TOTAL 1
static inline void SPLIT(__m512 x, __m512 *m, __m512 *e) {
    *m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
    *e = _mm512_sub_ps(_mm512_getexp_ps(x), _mm512_getexp_ps(*m));
}

#define VECTOR_S32 __m512i
#define SPLAT_S32(x) _mm512_set1_epi32(x)
#define ADD_S32(a, b) _mm512_add_epi32(a, b)
#define SUB_S32(a, b) _mm512_sub_epi32(a, b)
#define AND_S32(a, b) _mm512_and_si512(a, b)
#define SHIFT_LEFT_S32(a, bits) _mm512_slli_epi32(a, bits)
#define SHIFT_RIGHT_S32(a, bits) _mm512_srai_epi32(a, bits)
#define FLOATS(a) _mm512_cvtepi32_ps(a)
#define NEAREST_S32(a) _mm512_cvtps_epi32(a)
#define BITS_OF(a) _mm512_castps_si512(a)
#define OF_BITS(a) _mm512_castsi512_ps(a)

#include "vector_bits.h"

/* 2^(i / 32), where i is the last five bits of a lane. */
static inline __m512 ROOT_OF_2(__m512i i) {
    static const float roots[32] = {
        1.0f,        1.0218972f,  1.04427373f, 1.06714046f, 1.09050775f, 1.1143868f,  1.13878858f,
        1.1637249f,  1.18920708f, 1.21524739f, 1.24185777f, 1.26905096f, 1.29683959f, 1.32523668f,
        1.35425556f, 1.38390994f, 1.41421354f, 1.44518077f, 1.47682619f, 1.50916445f, 1.54221082f,
        1.5759809f,  1.61049032f, 1.64575553f, 1.68179286f, 1.71861935f, 1.75625217f, 1.79470909f,
        1.8340081f,  1.87416768f, 1.91520655f, 1.95714414f};
    return _mm512_permutex2var_ps(_mm512_loadu_ps(roots), i, _mm512_loadu_ps(roots + LANES));
}
#define ROOT_OF_2 ROOT_OF_2

/* Parts, with `other` in the lanes behind them. */
#define LOAD_PART_OR(p, count, other) _mm512_mask_loadu_ps(other, FIRST(count), p)
/* All lanes put together, of which none is NaN where they are compared. */
#define SUM_OF(v) _mm512_reduce_add_ps(v)
#define MAX_OF(v) _mm512_reduce_max_ps(v)
#define MIN_OF(v) _mm512_reduce_min_ps(v)
/* Bytes of 1 where the mask is set, else of 0. */
#define STORE_ONES(p, mask) \
    _mm_storeu_si128((__m128i *)(void *)(p), _mm_maskz_set1_epi8(mask, 1))
#define STORE_ONES_PART(p, mask, count) \
    _mm_mask_storeu_epi8(p, FIRST(count), _mm_maskz_set1_epi8(mask, 1))

#endif
