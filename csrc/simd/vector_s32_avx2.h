/* vector_s32_avx2.h -- vectors of eight int32 made of bytes and back, in the words of
 * vector_s32_avx512.h. */
#ifndef ML_SIMD_VECTOR_S32_AVX2_H
#define ML_SIMD_VECTOR_S32_AVX2_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "vector_avx2.h"

#define MASKED_S32 0
#define LOAD_S32(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE_S32(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define LOAD_PART_S32(p, count) _mm256_maskload_epi32(p, FIRST(count))
#define STORE_PART_S32(p, v, count) _mm256_maskstore_epi32(p, FIRST(count), v)
#define MUL_S32(a, b) _mm256_mullo_epi32(a, b)
#define MIN_S32(a, b) _mm256_min_epi32(a, b)
#define MAX_S32(a, b) _mm256_max_epi32(a, b)
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

enum { JOINED = 4 };
#define VECTOR_U8 __m256i
#define SPLAT_U8(x) _mm256_set1_epi8((char)(x))
#define STORE_U8(p, v) STORE_S32(p, v)
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

#endif
