/* vector_sse2.h -- vectors of four floats, in the words of vector_avx512.h. */
#ifndef ML_SIMD_VECTOR_SSE2_H
#define ML_SIMD_VECTOR_SSE2_H

#include <emmintrin.h>
#include <string.h>

enum { LANES = 4 };
#define VECTOR __m128
#define MASK __m128
#define LOAD(p) _mm_loadu_ps(p)
#define STORE(p, v) _mm_storeu_ps(p, v)
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
#define PICK(mask, a, b) _mm_or_ps(_mm_and_ps(mask, a), _mm_andnot_ps(mask, b))
#define ANY(mask) (_mm_movemask_ps(mask) != 0)
#define ABS(a) _mm_andnot_ps(_mm_set1_ps(-0.0f), a)
#define XOR(a, b) _mm_xor_ps(a, b)
#define SIGN(a) _mm_and_ps(_mm_set1_ps(-0.0f), a)
static inline __m128 ROUND(__m128 a) {
    const __m128 most = _mm_set1_ps(8388608.0f);
    __m128 whole = _mm_sub_ps(_mm_add_ps(ABS(a), most), most);
    return PICK(LESS(ABS(a), most), XOR(whole, SIGN(a)), a);
}
static inline __m128 FLOOR(__m128 a) {
    __m128 near = ROUND(a);
    return PICK(LESS(a, near), SUB(near, SPLAT(1.0f)), near);
}
static inline __m128 CEIL(__m128 a) {
    __m128 near = ROUND(a);
    return PICK(LESS(near, a), XOR(ABS(ADD(near, SPLAT(1.0f))), SIGN(a)), near);
}
/* The same below 2^22 in size. */
#define NEAREST(a) SUB(ADD(a, SPLAT(12582912.0f)), SPLAT(12582912.0f))
static inline __m128 ODD_SIGN(__m128 n) {
    __m128i bits = _mm_castps_si128(_mm_add_ps(n, _mm_set1_ps(12582912.0f)));
    return _mm_castsi128_ps(_mm_slli_epi32(bits, 31));
}
static inline __m128 POWER_OF_2(__m128i n) {
    return _mm_castsi128_ps(_mm_slli_epi32(_mm_add_epi32(n, _mm_set1_epi32(127)), 23));
}
static inline __m128 SCALE(__m128 v, __m128 n) {
    __m128i power = _mm_cvtps_epi32(n), half = _mm_srai_epi32(power, 1);
    return MUL(MUL(v, POWER_OF_2(half)), POWER_OF_2(_mm_sub_epi32(power, half)));
}
static inline __m128i MOVED_BITS(__m128 v) {
    return _mm_add_epi32(_mm_castps_si128(v), _mm_set1_epi32(0x3F800000 - 0x3F3504F3));
}
static inline __m128 EXPONENT(__m128 v) {
    __m128i power = _mm_srli_epi32(MOVED_BITS(v), 23);
    return _mm_cvtepi32_ps(_mm_sub_epi32(power, _mm_set1_epi32(127)));
}
static inline __m128 MANTISSA(__m128 v) {
    __m128i bits = _mm_and_si128(MOVED_BITS(v), _mm_set1_epi32(0x007FFFFF));
    return _mm_castsi128_ps(_mm_add_epi32(bits, _mm_set1_epi32(0x3F3504F3)));
}

/* x = m * 2^e of a positive number, sqrt(1/2) <= m < sqrt(2); of others what comes out is replaced. */
#define SPLIT_IS_TOTAL 0
static inline void SPLIT(__m128 x, __m128 *m, __m128 *e) {
    const MASK tiny = LESS(x, SPLAT(1.17549435e-38f));
    const __m128 normal = PICK(tiny, MUL(x, SPLAT(8388608.0f)), x);
    *m = MANTISSA(normal);
    *e = SUB(EXPONENT(normal), PICK(tiny, SPLAT(23.0f), SPLAT(0.0f)));
}

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

#endif
