/* vector_avx2.h -- vectors of eight floats, in the words of vector_avx512.h. */
#ifndef ML_SIMD_VECTOR_AVX2_H
#define ML_SIMD_VECTOR_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8 };
#define VECTOR __m256
#define MASK __m256
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
static inline __m256i FIRST(int64_t count) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes);
}
#define MASKED 1
#define LOAD_PART(p, count) _mm256_maskload_ps(p, FIRST(count))
#define STORE_PART(p, v, count) _mm256_maskstore_ps(p, FIRST(count), v)
#define SPLAT(x) _mm256_set1_ps(x)
#define ADD(a, b) _mm256_add_ps(a, b)
#define SUB(a, b) _mm256_sub_ps(a, b)
#define MUL(a, b) _mm256_mul_ps(a, b)
#define DIV(a, b) _mm256_div_ps(a, b)
#define SQRT(a) _mm256_sqrt_ps(a)
#define RSQRT(a) DIV(SPLAT(1.0f), SQRT(a))
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define FNMA(a, b, c) _mm256_fnmadd_ps(a, b, c)
#define FUSED 1
#define MAX(a, b) _mm256_max_ps(a, b)
#define MIN(a, b) _mm256_min_ps(a, b)
#define LESS(a, b) _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define LESS_EQUAL(a, b) _mm256_cmp_ps(a, b, _CMP_LE_OQ)
#define EQUAL(a, b) _mm256_cmp_ps(a, b, _CMP_EQ_OQ)
#define NOT_EQUAL(a, b) _mm256_cmp_ps(a, b, _CMP_NEQ_UQ)
#define PICK(mask, a, b) _mm256_blendv_ps(b, a, mask)
#define ANY(mask) (_mm256_movemask_ps(mask) != 0)
#define ABS(a) _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a)
#define XOR(a, b) _mm256_xor_ps(a, b)
#define SIGN(a) _mm256_and_ps(_mm256_set1_ps(-0.0f), a)
#define ROUND(a) _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define NEAREST(a) ROUND(a)
#define FLOOR(a) _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define CEIL(a) _mm256_round_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)

#define VECTOR_S32 __m256i
#define SPLAT_S32(x) _mm256_set1_epi32(x)
#define ADD_S32(a, b) _mm256_add_epi32(a, b)
#define SUB_S32(a, b) _mm256_sub_epi32(a, b)
#define AND_S32(a, b) _mm256_and_si256(a, b)
#define SHIFT_LEFT_S32(a, bits) _mm256_slli_epi32(a, bits)
#define SHIFT_RIGHT_S32(a, bits) _mm256_srai_epi32(a, bits)
#define FLOATS(a) _mm256_cvtepi32_ps(a)
#define NEAREST_S32(a) _mm256_cvtps_epi32(a)
#define BITS_OF(a) _mm256_castps_si256(a)
#define OF_BITS(a) _mm256_castsi256_ps(a)

#include "vector_bits.h"

static inline __m256 LOAD_PART_OR(const float *p, int64_t count, __m256 other) {
    return PICK(_mm256_castsi256_ps(FIRST(count)), LOAD_PART(p, count), other);
}
#define ONE_OF(name, JOIN)                                                              \
    static inline float name(__m256 whole) {                                            \
        __m128 v = JOIN(_mm256_castps256_ps128(whole), _mm256_extractf128_ps(whole, 1)); \
        v = JOIN(v, _mm_movehl_ps(v, v));                                               \
        return _mm_cvtss_f32(JOIN(v, _mm_shuffle_ps(v, v, 1)));                         \
    }
ONE_OF(SUM_OF, _mm_add_ps)
ONE_OF(MAX_OF, _mm_max_ps)
ONE_OF(MIN_OF, _mm_min_ps)
static inline __m128i ONES(__m256 mask) {
    const __m256i lanes = _mm256_castps_si256(mask);
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    return _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1));
}
#define STORE_ONES(p, mask) _mm_storel_epi64((__m128i *)(void *)(p), ONES(mask))
static inline void STORE_ONES_PART(uint8_t *p, __m256 mask, int64_t count) {
    const int64_t ones = _mm_cvtsi128_si64(ONES(mask));
    memcpy(p, &ones, (size_t)count);
}

#endif
