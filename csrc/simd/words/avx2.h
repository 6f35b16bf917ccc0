/* avx2.h -- the words of avx2, as simd/words.h explains them: eight floats, or eight int32. */
#ifndef ML_SIMD_WORDS_AVX2_H
#define ML_SIMD_WORDS_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8, PANEL_F32 = 16, ROWS_F32 = 6 };
#define VECTOR __m256
#define REGISTER "x"
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
#define LOAD_REST(p, count) \
    _mm256_maskload_ps(p, _mm256_xor_si256(FIRST(count), _mm256_set1_epi32(-1)))
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

/* Bytes as int32, and back. */
#define MASKED_S32 0
#define LOAD_S32(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE_S32(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define LOAD_PART_S32(p, count) _mm256_maskload_epi32(p, FIRST(count))
#define STORE_PART_S32(p, v, count) _mm256_maskstore_epi32(p, FIRST(count), v)
#define MUL_S32(a, b) _mm256_mullo_epi32(a, b)
#define MIN_S32(a, b) _mm256_min_epi32(a, b)
#define MAX_S32(a, b) _mm256_max_epi32(a, b)
/* Pairs of int16. */
#define ADD_PRODUCTS(sum, x, w) _mm256_add_epi32(sum, _mm256_madd_epi16(x, w))
#define TRUNCATED(v) _mm256_cvttps_epi32(v)

#define BITS __m128i
#define SPLAT_BITS(bits) _mm_cvtsi32_si128(bits)
#define SHIFT_RIGHT_BY(v, bits) _mm256_sra_epi32(v, bits)

static inline __m128i BYTES_PART(const void *p, int64_t count) {
    int64_t bytes = 0;
    memcpy(&bytes, p, (size_t)count);
    return _mm_cvtsi64_si128(bytes);
}
static inline __m128i LOW_BYTES(__m256i v) {
    v = _mm256_shuffle_epi8(v, _mm256_set1_epi32(0x0C080400));
    return _mm_unpacklo_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}
#define WIDEN_EACH(bytes, is_signed) \
    ((is_signed) ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes))
#define WIDEN(p, is_signed) \
    WIDEN_EACH(_mm_loadl_epi64((const __m128i *)(const void *)(p)), is_signed)
#define WIDEN_PART(p, count, is_signed) WIDEN_EACH(BYTES_PART(p, count), is_signed)
#define WIDEN_BYTE(p, is_signed) WIDEN_EACH(_mm_set1_epi8((char)*(p)), is_signed)
#define NARROW(p, v) _mm_storel_epi64((__m128i *)(void *)(p), LOW_BYTES(v))
static inline void NARROW_PART(void *p, __m256i v, int64_t count) {
    const int64_t bytes = _mm_cvtsi128_si64(LOW_BYTES(v));
    memcpy(p, &bytes, (size_t)count);
}

static inline __m256i ADD_GROUPS(__m256i sum, const uint8_t *p, const bool is_signed) {
    const __m256i bytes = LOAD_S32(p), ones = _mm256_set1_epi8(1);
    const __m256i pairs =
        is_signed ? _mm256_maddubs_epi16(ones, bytes) : _mm256_maddubs_epi16(bytes, ones);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
#define ADD_GROUPS ADD_GROUPS
static inline int32_t SUM_OF_S32(__m256i whole) {
    __m128i v = _mm_add_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32(v, 0xB1)));
}

static inline __m256i LESS_ONE(__m256i v, __m256i x, __m256i limit) {
    return _mm256_add_epi32(v, _mm256_cmpgt_epi32(limit, x));
}

#define SPLAT_S64(x) _mm256_set1_epi64x(x)
static inline __m256i HIGH_MUL_ADD(__m256i v, __m256i factor, __m256i addend) {
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(v, factor), addend);
    const __m256i odd =
        _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(v, 32), factor), addend);
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}

enum { JOINED = 4, LANES_U8 = 32 };
#define VECTOR_U8 __m256i
#define SPLAT_U8(x) _mm256_set1_epi8((char)(x))
#define LOAD_U8(p) LOAD_S32(p)
#define STORE_U8(p, v) STORE_S32(p, v)
#define MAX_U8(a, b, is_signed) ((is_signed) ? _mm256_max_epi8(a, b) : _mm256_max_epu8(a, b))
#define XOR_U8(a, b) _mm256_xor_si256(a, b)
/* Words of four vectors, saturated to bytes, in the order of the vectors' lanes. */
__attribute__((always_inline)) static inline __m256i WORDS_TO_U8(__m256i first, __m256i second,
                                                                 const bool is_signed) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i y =
        is_signed ? _mm256_packs_epi16(first, second) : _mm256_packus_epi16(first, second);
    return _mm256_permutevar8x32_epi32(y, order);
}
__attribute__((always_inline)) static inline __m256i JOIN(const __m256i v[JOINED],
                                                          const bool is_signed) {
    return WORDS_TO_U8(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]), is_signed);
}
#define CLAMP_U8(v, low, high, is_signed) ((is_signed) ? _mm256_min_epi8(_mm256_max_epi8(v, low), high) : _mm256_min_epu8(_mm256_max_epu8(v, low), high))

#define VECTOR_S16 __m256i
#define SPLAT_S16(x) _mm256_set1_epi16((short)(x))
enum { LANES_S16 = 16, PAIR_ROWS = 6 };
#define PAIR_ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define ADD_S16(a, b) _mm256_add_epi16(a, b)
#define SUB_S16(a, b) _mm256_sub_epi16(a, b)
#define SHIFT_LEFT_S16(a, bits) _mm256_slli_epi16(a, bits)
#define WIDEN_S16(p) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define STORE_S16(p, v) STORE_S32(p, v)
/* Adds in the register of the sum; compilers would add in another register and move the sum back.
 * */
__attribute__((always_inline)) static inline __m256i ADD_PAIRS(__m256i sum, __m256i a, __m256i w) {
    __m256i pairs;
    __asm__("vpmaddwd %2, %3, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(pairs) : "x"(a), "x"(w));
    return sum;
}
__attribute__((always_inline)) static inline __m256i
JOIN_UPPER(const __m256i v[JOINED], __m256i words, const bool is_signed) {
    const __m256i first =
        _mm256_packs_epi32(_mm256_srai_epi32(v[0], 16), _mm256_srai_epi32(v[1], 16));
    const __m256i second =
        _mm256_packs_epi32(_mm256_srai_epi32(v[2], 16), _mm256_srai_epi32(v[3], 16));
    return WORDS_TO_U8(_mm256_adds_epi16(first, words), _mm256_adds_epi16(second, words),
                       is_signed);
}

static inline bool ANY_LOWER_BELOW(const __m256i v[JOINED], __m256i bits) {
    const __m256i a = _mm256_min_epu16(v[0], v[1]), b = _mm256_min_epu16(v[2], v[3]);
    const __m256i least = _mm256_and_si256(_mm256_min_epu16(a, b), bits);
    return _mm256_movemask_epi8(_mm256_cmpeq_epi32(least, _mm256_setzero_si256())) != 0;
}

/* Moves of lanes. */
#define EQUAL_S32(a, b) _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b))
#define LOOKUP_OR(other, mask, v, index) PICK(mask, _mm256_permutevar8x32_ps(v, index), other)
#define UNPACK_LOW(a, b) _mm256_unpacklo_ps(a, b)
#define UNPACK_HIGH(a, b) _mm256_unpackhi_ps(a, b)
#define SHUFFLE(a, b, lanes) _mm256_shuffle_ps(a, b, lanes)
__attribute__((always_inline)) static inline __m256 FOURS(const uint8_t *p, int64_t step) {
    const __m128 first = _mm_loadu_ps((const float *)(const void *)p);
    const __m128 second = _mm_loadu_ps((const float *)(const void *)(p + step));
    return _mm256_insertf128_ps(_mm256_castps128_ps256(first), second, 1);
}

#define LOAD_F16(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p)))
static inline void STORE_F16(uint16_t *p, __m256 v) {
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const __m128i lanes =
        _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extracti128_si256(nan, 1));
    const __m128i payload = _mm_and_si128(lanes, _mm_set1_epi16(0x01FF));
    const __m128i half = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128((__m128i *)(void *)p, _mm_andnot_si128(payload, half));
}

#endif
