/* sse2.h -- the words of sse2, as simd/words.h explains them: four floats, or four int32; every
 * x86-64 has it. */
#ifndef ML_SIMD_WORDS_SSE2_H
#define ML_SIMD_WORDS_SSE2_H

#include <emmintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 4, PANEL_F32 = 8, ROWS_F32 = 6 };
#define VECTOR __m128
#define MASK __m128
#define LOAD(p) _mm_loadu_ps(p)
#define STORE(p, v) _mm_storeu_ps(p, v)
#define REGISTER "x"
#define MOST_PIXELS 4
#define MASKED 0
static inline __m128 LOAD_PART(const float *p, int64_t count) {
    return _mm_setr_ps(p[0], count > 1 ? p[1] : 0, count > 2 ? p[2] : 0, 0);
}
static inline void STORE_PART(float *p, __m128 v, int64_t count) {
    _mm_store_ss(p, v);
    if (count > 1) _mm_store_ss(p + 1, _mm_shuffle_ps(v, v, 1));
    if (count > 2) _mm_store_ss(p + 2, _mm_shuffle_ps(v, v, 2));
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

/* Bytes as int32, and back. */
#define INLINE_S32 __attribute__((always_inline)) static inline

#define MASKED_S32 0
#define LOAD_S32(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define STORE_S32(p, v) _mm_storeu_si128((__m128i *)(void *)(p), v)
#define LOAD_PART_S32(p, count) BITS_OF(LOAD_PART((const float *)(const void *)(p), count))
#define STORE_PART_S32(p, v, count) STORE_PART((float *)(void *)(p), OF_BITS(v), count)
static inline __m128i PICK_S32(__m128i mask, __m128i a, __m128i b) {
    return _mm_or_si128(_mm_and_si128(mask, a), _mm_andnot_si128(mask, b));
}
/* The lower halves of products are the same for signed and unsigned numbers. */
static inline __m128i MUL_S32(__m128i a, __m128i b) {
    const __m128i even = _mm_mul_epu32(a, b);
    const __m128i odd = _mm_mul_epu32(_mm_srli_epi64(a, 32), _mm_srli_epi64(b, 32));
    return _mm_unpacklo_epi32(_mm_shuffle_epi32(even, 0x08), _mm_shuffle_epi32(odd, 0x08));
}
#define MIN_S32(a, b) PICK_S32(_mm_cmpgt_epi32(a, b), b, a)
#define MAX_S32(a, b) PICK_S32(_mm_cmpgt_epi32(a, b), a, b)
/* Pairs of int16. */
#define ADD_PRODUCTS(sum, x, w) _mm_add_epi32(sum, _mm_madd_epi16(x, w))
#define TRUNCATED(v) _mm_cvttps_epi32(v)

#define BITS __m128i
#define SPLAT_BITS(bits) _mm_cvtsi32_si128(bits)
#define SHIFT_RIGHT_BY(v, bits) _mm_sra_epi32(v, bits)

INLINE_S32 __m128i WIDEN_EACH(int32_t four, const bool is_signed) {
    const __m128i bytes = _mm_cvtsi32_si128(four), none = _mm_setzero_si128();
    if (!is_signed) return _mm_unpacklo_epi16(_mm_unpacklo_epi8(bytes, none), none);
    return _mm_srai_epi32(_mm_unpacklo_epi16(none, _mm_unpacklo_epi8(none, bytes)), 24);
}
INLINE_S32 __m128i WIDEN_PART(const void *p, int64_t count, const bool is_signed) {
    int32_t four = 0;
    memcpy(&four, p, (size_t)count);
    return WIDEN_EACH(four, is_signed);
}
#define WIDEN(p, is_signed) WIDEN_PART(p, LANES, is_signed)
#define WIDEN_BYTE(p, is_signed) \
    _mm_set1_epi32((is_signed) ? (int32_t)(int8_t)*(p) : (int32_t)(uint8_t)*(p))
INLINE_S32 void NARROW_PART(void *p, __m128i v, int64_t count) {
    const __m128i low = _mm_and_si128(v, _mm_set1_epi32(0xFF)), words = _mm_packs_epi32(low, low);
    const int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    memcpy(p, &bytes, (size_t)count);
}
#define NARROW(p, v) NARROW_PART(p, v, LANES)

INLINE_S32 __m128i ADD_GROUPS(__m128i sum, const uint8_t *p, const bool is_signed) {
    const __m128i flip = _mm_set1_epi8(is_signed ? (char)0x80 : 0);
    const __m128i halves = _mm_sad_epu8(_mm_xor_si128(LOAD_S32(p), flip), _mm_setzero_si128());
    const __m128i less = _mm_set_epi32(0, is_signed ? 8 * 128 : 0, 0, is_signed ? 8 * 128 : 0);
    return _mm_add_epi32(sum, _mm_sub_epi32(halves, less));
}
#define ADD_GROUPS ADD_GROUPS
static inline int32_t SUM_OF_S32(__m128i v) {
    v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32(v, 0xB1)));
}

static inline __m128i LESS_ONE(__m128i v, __m128i x, __m128i limit) {
    return _mm_add_epi32(v, _mm_cmpgt_epi32(limit, x));
}

/* v + 2^31 is unsigned; its product with a factor >= 0 is 2^31 times the factor too large, which is
 * subtracted. */
#define SPLAT_S64(x) _mm_set1_epi64x(x)
static inline __m128i HIGH_MUL_ADD(__m128i v, __m128i factor, __m128i addend) {
    const __m128i x = _mm_xor_si128(v, _mm_set1_epi32(INT32_MIN));
    const __m128i rest = _mm_sub_epi64(addend, _mm_slli_epi64(factor, 31));
    const __m128i even = _mm_add_epi64(_mm_mul_epu32(x, factor), rest);
    const __m128i odd = _mm_add_epi64(_mm_mul_epu32(_mm_srli_epi64(x, 32), factor), rest);
    return _mm_unpacklo_epi32(_mm_shuffle_epi32(even, 0x0D), _mm_shuffle_epi32(odd, 0x0D));
}

enum { JOINED = 4, LANES_U8 = 16 };
#define VECTOR_U8 __m128i
#define SPLAT_U8(x) _mm_set1_epi8((char)(x))
#define LOAD_U8(p) LOAD_S32(p)
#define STORE_U8(p, v) STORE_S32(p, v)
#define XOR_U8(a, b) _mm_xor_si128(a, b)
INLINE_S32 __m128i JOIN(const __m128i v[JOINED], const bool is_signed) {
    const __m128i first = _mm_packs_epi32(v[0], v[1]), second = _mm_packs_epi32(v[2], v[3]);
    return is_signed ? _mm_packs_epi16(first, second) : _mm_packus_epi16(first, second);
}
INLINE_S32 __m128i MAX_U8(__m128i a, __m128i b, const bool is_signed) {
    const __m128i flip = _mm_set1_epi8(is_signed ? (char)0x80 : 0);
    return XOR_U8(_mm_max_epu8(XOR_U8(a, flip), XOR_U8(b, flip)), flip);
}
INLINE_S32 __m128i CLAMP_U8(__m128i v, __m128i low, __m128i high, const bool is_signed) {
    const __m128i flip = _mm_set1_epi8(is_signed ? (char)0x80 : 0);
    v = _mm_max_epu8(XOR_U8(v, flip), XOR_U8(low, flip));
    return XOR_U8(_mm_min_epu8(v, XOR_U8(high, flip)), flip);
}

#define VECTOR_S16 __m128i
#define SPLAT_S16(x) _mm_set1_epi16((short)(x))
enum { LANES_S16 = 8, PAIR_ROWS = 2 };
#define PAIR_ROW_COUNTS(X) X(1) X(2)
#define ADD_S16(a, b) _mm_add_epi16(a, b)
#define SUB_S16(a, b) _mm_sub_epi16(a, b)
#define SHIFT_LEFT_S16(a, bits) _mm_slli_epi16(a, bits)
INLINE_S32 __m128i WIDEN_S16(const int8_t *p) {
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)p);
    return _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
}
#define STORE_S16(p, v) STORE_S32(p, v)
#define ADD_PAIRS(sum, a, w) _mm_add_epi32(_mm_madd_epi16(a, w), sum)
INLINE_S32 __m128i JOIN_UPPER(const __m128i v[JOINED], __m128i words, const bool is_signed) {
    const __m128i a = _mm_packs_epi32(_mm_srai_epi32(v[0], 16), _mm_srai_epi32(v[1], 16));
    const __m128i b = _mm_packs_epi32(_mm_srai_epi32(v[2], 16), _mm_srai_epi32(v[3], 16));
    const __m128i first = _mm_adds_epi16(a, words), second = _mm_adds_epi16(b, words);
    return is_signed ? _mm_packs_epi16(first, second) : _mm_packus_epi16(first, second);
}

static inline bool ANY_LOWER_BELOW(const __m128i v[JOINED], __m128i bits) {
    const __m128i none = _mm_setzero_si128();
    __m128i below = none;
    for (int i = 0; i < JOINED; i++)
        below = _mm_or_si128(below, _mm_cmpeq_epi32(_mm_and_si128(v[i], bits), none));
    return _mm_movemask_epi8(below) != 0;
}

#endif
