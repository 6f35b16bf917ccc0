/* vector_s32_avx512.h -- vectors of sixteen int32 made of bytes and back: words for loops over
 * bytes that are written once for all levels, as vector_avx512.h has them for floats.
 *
 * WIDEN takes LANES bytes, s8 or else u8, WIDEN_BYTE one for all lanes; NARROW writes the low bytes
 * of lanes. JOIN makes JOINED vectors bytes of one, saturated. Parts are the first `count` lanes, 1
 * <= count < LANES. */
#ifndef ML_SIMD_VECTOR_S32_AVX512_H
#define ML_SIMD_VECTOR_S32_AVX512_H

#include <stdbool.h>
#include <stdint.h>

#include "vector_avx512.h"

#define MASKED_S32 1
#define LOAD_S32(p) _mm512_loadu_si512(p)
#define STORE_S32(p, v) _mm512_storeu_si512(p, v)
#define LOAD_PART_S32(p, count) _mm512_maskz_loadu_epi32(FIRST(count), p)
#define STORE_PART_S32(p, v, count) _mm512_mask_storeu_epi32(p, FIRST(count), v)
#define MUL_S32(a, b) _mm512_mullo_epi32(a, b)
#define MIN_S32(a, b) _mm512_min_epi32(a, b)
#define MAX_S32(a, b) _mm512_max_epi32(a, b)
#define TRUNCATED(v) _mm512_cvttps_epi32(v)

/* Shifts to the right by as many bits as are known at run time. */
#define BITS __m128i
#define SPLAT_BITS(bits) _mm_cvtsi32_si128(bits)
#define SHIFT_RIGHT_BY(v, bits) _mm512_sra_epi32(v, bits)

#define WIDEN_EACH(bytes, is_signed) \
    ((is_signed) ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes))
#define WIDEN(p, is_signed) \
    WIDEN_EACH(_mm_loadu_si128((const __m128i *)(const void *)(p)), is_signed)
#define WIDEN_PART(p, count, is_signed) WIDEN_EACH(_mm_maskz_loadu_epi8(FIRST(count), p), is_signed)
#define WIDEN_BYTE(p, is_signed) WIDEN_EACH(_mm_set1_epi8((char)*(p)), is_signed)
#define NARROW(p, v) _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi32_epi8(v))
#define NARROW_PART(p, v, count) _mm512_mask_cvtepi32_storeu_epi8(p, FIRST(count), v)

/* sum, each lane and four of 4 LANES bytes; and all lanes put together, which wraps. */
static inline __m512i ADD_GROUPS(__m512i sum, const uint8_t *p, const bool is_signed) {
    const __m512i bytes = _mm512_loadu_si512(p), ones = _mm512_set1_epi8(1);
    return is_signed ? _mm512_dpbusd_epi32(sum, ones, bytes)
                     : _mm512_dpbusd_epi32(sum, bytes, ones);
}
#define SUM_OF_S32(v) _mm512_reduce_add_epi32(v)

/* v, less 1 where x is below the limit. */
static inline __m512i LESS_ONE(__m512i v, __m512i x, __m512i limit) {
    return _mm512_mask_add_epi32(v, _mm512_cmplt_epi32_mask(x, limit), v, _mm512_set1_epi32(-1));
}

/* The upper halves of the products of lanes with a factor of 32 bits, plus an addend of 64. */
#define SPLAT_S64(x) _mm512_set1_epi64(x)
static inline __m512i HIGH_MUL_ADD(__m512i v, __m512i factor, __m512i addend) {
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(v, factor), addend);
    const __m512i odd =
        _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(v, 32), factor), addend);
    return _mm512_castps_si512(
        _mm512_mask_movehdup_ps(_mm512_castsi512_ps(odd), 0x5555, _mm512_castsi512_ps(even)));
}

enum { JOINED = 4 };
#define VECTOR_U8 __m512i
#define SPLAT_U8(x) _mm512_set1_epi8((char)(x))
#define STORE_U8(p, v) _mm512_storeu_si512(p, v)
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

/* The upper halves of lanes, plus words, saturated to bytes. */
#define VECTOR_S16 __m512i
#define SPLAT_S16(x) _mm512_set1_epi16((short)(x))
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

/* Whether the lower half of some lane is below a power of 2, less than which `bits` has none of the
 * half's. */
static inline bool ANY_LOWER_BELOW(const __m512i v[JOINED], __m512i bits) {
    const __m512i a = _mm512_min_epu16(v[0], v[1]), b = _mm512_min_epu16(v[2], v[3]);
    return _mm512_testn_epi32_mask(_mm512_min_epu16(a, b), bits) != 0;
}

#endif
