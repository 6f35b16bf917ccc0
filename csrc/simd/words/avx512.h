/* avx512.h -- the words of avx512, as simd/words.h explains them: sixteen floats, or sixteen int32.
 * */
#ifndef ML_SIMD_WORDS_AVX512_H
#define ML_SIMD_WORDS_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

enum { LANES = 16, PANEL_F32 = 16, ROWS_F32 = 14 };
#define NARROWER avx2
#define VECTOR __m512
#define REGISTER "v"
#define MASK __mmask16
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define FIRST(count) ((__mmask16)((1u << (count)) - 1))
#define MASKED 1
#define FREE_MASKS 1
#define LOAD_PART(p, count) _mm512_maskz_loadu_ps(FIRST(count), p)
#define LOAD_REST(p, count) _mm512_maskz_loadu_ps((__mmask16)~FIRST(count), p)
#define STORE_PART(p, v, count) _mm512_mask_storeu_ps(p, FIRST(count), v)
#define SPLAT(x) _mm512_set1_ps(x)
#define ADD(a, b) _mm512_add_ps(a, b)
#define SUB(a, b) _mm512_sub_ps(a, b)
#define MUL(a, b) _mm512_mul_ps(a, b)
#define DIV(a, b) _mm512_div_ps(a, b)
#define SQRT(a) _mm512_sqrt_ps(a)
/* Within 2 ULP: an estimate of 14 bits and a correction of third order; for 0 and infinity just the
 * estimate. */
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

#define LOAD_PART_OR(p, count, other) _mm512_mask_loadu_ps(other, FIRST(count), p)
#define SUM_OF(v) _mm512_reduce_add_ps(v)
#define MAX_OF(v) _mm512_reduce_max_ps(v)
#define MIN_OF(v) _mm512_reduce_min_ps(v)
#define STORE_ONES(p, mask) \
    _mm_storeu_si128((__m128i *)(void *)(p), _mm_maskz_set1_epi8(mask, 1))
#define STORE_ONES_PART(p, mask, count) \
    _mm_mask_storeu_epi8(p, FIRST(count), _mm_maskz_set1_epi8(mask, 1))

/* Bytes as int32, and back. */
#define MASKED_S32 1
#define LOAD_S32(p) _mm512_loadu_si512(p)
#define STORE_S32(p, v) _mm512_storeu_si512(p, v)
#define LOAD_PART_S32(p, count) _mm512_maskz_loadu_epi32(FIRST(count), p)
#define STORE_PART_S32(p, v, count) _mm512_mask_storeu_epi32(p, FIRST(count), v)
#define MUL_S32(a, b) _mm512_mullo_epi32(a, b)
#define MIN_S32(a, b) _mm512_min_epi32(a, b)
#define MAX_S32(a, b) _mm512_max_epi32(a, b)
/* Groups of four bytes. */
#define ADD_PRODUCTS(sum, x, w) _mm512_dpbusd_epi32(sum, x, w)
#define TRUNCATED(v) _mm512_cvttps_epi32(v)

#define BITS __m128i
#define SPLAT_BITS(bits) _mm_cvtsi32_si128(bits)
#define SHIFT_RIGHT_BY(v, bits) _mm512_sra_epi32(v, bits)

#define WIDEN_EACH(bytes, is_signed) \
    ((is_signed) ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes))
#define WIDEN(p, is_signed) \
    WIDEN_EACH(_mm_loadu_si128((const __m128i *)(const void *)(p)), is_signed)
#define WIDEN_PART(p, count, is_signed) WIDEN_EACH(_mm_maskz_loadu_epi8(FIRST(count), p), is_signed)
#define WIDEN_BYTE(p, is_signed) WIDEN_EACH(_mm_set1_epi8((char)*(p)), is_signed)
/* A permutation uses only the last 4 bits of each lane of indices. */
static inline __m512 OF_LOW_HALF(__m512i v) {
    const __m512 numbers = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
    return _mm512_permutexvar_ps(v, numbers);
}
#define OF_LOW_HALF OF_LOW_HALF
#define OF_HIGH_HALF(v) OF_LOW_HALF(SHIFT_RIGHT_S32(v, 4))
#define NARROW(p, v) _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi32_epi8(v))
#define NARROW_PART(p, v, count) _mm512_mask_cvtepi32_storeu_epi8(p, FIRST(count), v)

static inline __m512i ADD_GROUPS(__m512i sum, const uint8_t *p, const bool is_signed) {
    const __m512i bytes = _mm512_loadu_si512(p), ones = _mm512_set1_epi8(1);
    return is_signed ? _mm512_dpbusd_epi32(sum, ones, bytes)
                     : _mm512_dpbusd_epi32(sum, bytes, ones);
}
#define ADD_GROUPS ADD_GROUPS
#define SUM_OF_S32(v) _mm512_reduce_add_epi32(v)

static inline __m512i LESS_ONE(__m512i v, __m512i x, __m512i limit) {
    return _mm512_mask_add_epi32(v, _mm512_cmplt_epi32_mask(x, limit), v, _mm512_set1_epi32(-1));
}

#define SPLAT_S64(x) _mm512_set1_epi64(x)
static inline __m512i HIGH_MUL_ADD(__m512i v, __m512i factor, __m512i addend) {
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(v, factor), addend);
    const __m512i odd =
        _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(v, 32), factor), addend);
    return _mm512_castps_si512(
        _mm512_mask_movehdup_ps(_mm512_castsi512_ps(odd), 0x5555, _mm512_castsi512_ps(even)));
}

enum { JOINED = 4, LANES_U8 = 64 };
#define VECTOR_U8 __m512i
#define SPLAT_U8(x) _mm512_set1_epi8((char)(x))
#define LOAD_U8(p) _mm512_loadu_si512(p)
#define STORE_U8(p, v) _mm512_storeu_si512(p, v)
#define FIRST_U8(count) (((__mmask64)1 << (count)) - 1)
#define LOAD_PART_U8(p, count) _mm512_maskz_loadu_epi8(FIRST_U8(count), p)
#define MAX_U8(a, b, is_signed) ((is_signed) ? _mm512_max_epi8(a, b) : _mm512_max_epu8(a, b))
#define XOR_U8(a, b) _mm512_xor_si512(a, b)
#define WORDS_TO_U8(first, second, is_signed) \
    ((is_signed) ? _mm512_packs_epi16(first, second) : _mm512_packus_epi16(first, second))
__attribute__((always_inline)) static inline __m512i JOIN(const __m512i v[JOINED],
                                                          const bool is_signed) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i first = _mm512_packs_epi32(v[0], v[1]), second = _mm512_packs_epi32(v[2], v[3]);
    return _mm512_permutexvar_epi32(order, WORDS_TO_U8(first, second, is_signed));
}
#define CLAMP_U8(v, low, high, is_signed) ((is_signed) ? _mm512_min_epi8(_mm512_max_epi8(v, low), high) : _mm512_min_epu8(_mm512_max_epu8(v, low), high))

#define VECTOR_S16 __m512i
#define SPLAT_S16(x) _mm512_set1_epi16((short)(x))
enum { LANES_S16 = 32, PAIR_ROWS = 12 };
#define PAIR_ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#define ADD_S16(a, b) _mm512_add_epi16(a, b)
#define SUB_S16(a, b) _mm512_sub_epi16(a, b)
#define SHIFT_LEFT_S16(a, bits) _mm512_slli_epi16(a, bits)
#define WIDEN_S16(p) _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define STORE_S16(p, v) _mm512_storeu_si512(p, v)
#define FIRST_S16(count) ((__mmask32)((UINT64_C(1) << (count)) - 1))
#define WIDEN_PART_S16(p, count) _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(FIRST_S16(count), p))
#define STORE_PART_S16(p, v, count) _mm512_mask_storeu_epi16(p, FIRST_S16(count), v)
#define ADD_PAIRS(sum, a, w) _mm512_dpwssd_epi32(sum, a, w)
__attribute__((always_inline)) static inline __m512i
JOIN_UPPER(const __m512i v[JOINED], __m512i words, const bool is_signed) {
    const __m512i odd =
        _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                         25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    const __m512i first = _mm512_adds_epi16(_mm512_permutex2var_epi16(v[0], odd, v[1]), words);
    const __m512i second = _mm512_adds_epi16(_mm512_permutex2var_epi16(v[2], odd, v[3]), words);
    return _mm512_permutexvar_epi64(order, WORDS_TO_U8(first, second, is_signed));
}

static inline bool ANY_LOWER_BELOW(const __m512i v[JOINED], __m512i bits) {
    const __m512i a = _mm512_min_epu16(v[0], v[1]), b = _mm512_min_epu16(v[2], v[3]);
    return _mm512_testn_epi32_mask(_mm512_min_epu16(a, b), bits) != 0;
}

/* Moves of lanes. */
#define EQUAL_S32(a, b) _mm512_cmpeq_epi32_mask(a, b)
#define LOOKUP_OR(other, mask, v, index) _mm512_mask_permutexvar_ps(other, mask, index, v)
#define UNPACK_LOW(a, b) _mm512_unpacklo_ps(a, b)
#define UNPACK_HIGH(a, b) _mm512_unpackhi_ps(a, b)
#define SHUFFLE(a, b, lanes) _mm512_shuffle_ps(a, b, lanes)
__attribute__((always_inline)) static inline __m512 FOURS(const uint8_t *p, int64_t step) {
    const float *first = (const float *)(const void *)p;
    const float *second = (const float *)(const void *)(p + step);
    const float *third = (const float *)(const void *)(p + 2 * step);
    const float *fourth = (const float *)(const void *)(p + 3 * step);
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(first));
    v = _mm512_mask_broadcast_f32x4(v, 0x00F0, _mm_loadu_ps(second));
    v = _mm512_mask_broadcast_f32x4(v, 0x0F00, _mm_loadu_ps(third));
    return _mm512_mask_broadcast_f32x4(v, 0xF000, _mm_loadu_ps(fourth));
}

#define LOAD_F16(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define LOAD_PART_F16(p, count) _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(FIRST(count), p))
static inline __m256i HALVES(__m512 v) {
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m256i half = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm256_mask_blend_epi16(nan, half, _mm256_andnot_si256(_mm256_set1_epi16(0x01FF), half));
}
#define STORE_F16(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), HALVES(v))
#define STORE_PART_F16(p, v, count) _mm256_mask_storeu_epi16(p, FIRST(count), HALVES(v))

#endif
