/* vector_sse2.h -- vectors of four floats, in the words of vector_avx512.h. */
#ifndef ML_SIMD_VECTOR_SSE2_H
#define ML_SIMD_VECTOR_SSE2_H

#include <emmintrin.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 4 };
#define VECTOR __m128
#define MASK __m128
#define LOAD(p) _mm_loadu_ps(p)
#define STORE(p, v) _mm_storeu_ps(p, v)
#define MASKED 0
static inline __m128 LOAD_PART(const float *p, int64_t count) {
    float lanes[4] = {0};
    memcpy(lanes, p, (size_t)count * sizeof *p);
    return _mm_loadu_ps(lanes);
}
static inline void STORE_PART(float *p, __m128 v, int64_t count) {
    float lanes[4];
    _mm_storeu_ps(lanes, v);
    memcpy(p, lanes, (size_t)count * sizeof *p);
}
#define SPLAT(x) _mm_set1_ps(x)
#define ADD(a, b) _mm_add_ps(a, b)
#define SUB(a, b) _mm_sub_ps(a, b)
#define MUL(a, b) _mm_mul_ps(a, b)
#define DIV(a, b) _mm_div_ps(a, b)
#define SQRT(a) _mm_sqrt_ps(a)
#define RSQRT(a) DIV(SPLAT(1.0f), SQRT(a))
#define FMA(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
#define FNMA(a, b, c) _mm_sub_ps(c, _mm_mul_ps(a, b))
#define MAX(a, b) _mm_max_ps(a, b)
#define MIN(a, b) _mm_min_ps(a, b)
#define LESS(a, b) _mm_cmplt_ps(a, b)
#define LESS_EQUAL(a, b) _mm_cmple_ps(a, b)
#define EQUAL(a, b) _mm_cmpeq_ps(a, b)
#define NOT_EQUAL(a, b) _mm_cmpneq_ps(a, b)
#define PICK(mask, a, b) _mm_or_ps(_mm_and_ps(mask, a), _mm_andnot_ps(mask, b))
#define ANY(mask) (_mm_movemask_ps(mask) != 0)
#define ABS(a) _mm_andnot_ps(_mm_set1_ps(-0.0f), a)
#define XOR(a, b) _mm_xor_ps(a, b)
#define SIGN(a) _mm_and_ps(_mm_set1_ps(-0.0f), a)

#define VECTOR_S32 __m128i
#define SPLAT_S32(x) _mm_set1_epi32(x)
#define ADD_S32(a, b) _mm_add_epi32(a, b)
#define SUB_S32(a, b) _mm_sub_epi32(a, b)
#define AND_S32(a, b) _mm_and_si128(a, b)
#define SHIFT_LEFT_S32(a, bits) _mm_slli_epi32(a, bits)
#define SHIFT_RIGHT_S32(a, bits) _mm_srai_epi32(a, bits)
#define FLOATS(a) _mm_cvtepi32_ps(a)
#define NEAREST_S32(a) _mm_cvtps_epi32(a)
#define BITS_OF(a) _mm_castps_si128(a)
#define OF_BITS(a) _mm_castsi128_ps(a)

#include "vector_bits.h"

static inline __m128 LOAD_PART_OR(const float *p, int64_t count, __m128 other) {
    float lanes[4];
    _mm_storeu_ps(lanes, other);
    memcpy(lanes, p, (size_t)count * sizeof *p);
    return _mm_loadu_ps(lanes);
}
#define ONE_OF(name, JOIN)                                                      \
    static inline float name(__m128 v) {                                        \
        v = JOIN(v, _mm_movehl_ps(v, v));                                       \
        return _mm_cvtss_f32(JOIN(v, _mm_shuffle_ps(v, v, 1)));                 \
    }
ONE_OF(SUM_OF, ADD)
ONE_OF(MAX_OF, MAX)
ONE_OF(MIN_OF, MIN)
static inline void STORE_ONES_PART(uint8_t *p, __m128 mask, int64_t count) {
    const __m128i lanes = _mm_castps_si128(mask), words = _mm_packs_epi32(lanes, lanes);
    const __m128i bytes = _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1));
    const int32_t ones = _mm_cvtsi128_si32(bytes);
    memcpy(p, &ones, (size_t)count);
}
#define STORE_ONES(p, mask) STORE_ONES_PART(p, mask, LANES)

#endif
