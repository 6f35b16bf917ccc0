/* vector_s32_sse2.h -- vectors of four int32 made of bytes and back, in the words of
 * vector_s32_avx512.h. */
#ifndef ML_SIMD_VECTOR_S32_SSE2_H
#define ML_SIMD_VECTOR_S32_SSE2_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "vector_sse2.h"

#define INLINE_S32 __attribute__((always_inline)) static inline

#define MASKED_S32 0
#define LOAD_S32(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define STORE_S32(p, v) _mm_storeu_si128((__m128i *)(void *)(p), v)
static inline __m128i LOAD_PART_S32(const int32_t *p, int64_t count) {
    int32_t lanes[4] = {0};
    memcpy(lanes, p, (size_t)count * sizeof *p);
    return LOAD_S32(lanes);
}
static inline void STORE_PART_S32(int32_t *p, __m128i v, int64_t count) {
    int32_t lanes[4];
    STORE_S32(lanes, v);
    memcpy(p, lanes, (size_t)count * sizeof *p);
}
static inline __m128i PICK_S32(__m128i mask, __m128i a, __m128i b) {
    return _mm_or_si128(_mm_and_si128(mask, a), _mm_andnot_si128(mask, b));
}
/* The lower halves of products are the same without signs. */
static inline __m128i MUL_S32(__m128i a, __m128i b) {
    const __m128i even = _mm_mul_epu32(a, b);
    const __m128i odd = _mm_mul_epu32(_mm_srli_epi64(a, 32), _mm_srli_epi64(b, 32));
    return _mm_unpacklo_epi32(_mm_shuffle_epi32(even, 0x08), _mm_shuffle_epi32(odd, 0x08));
}
#define MIN_S32(a, b) PICK_S32(_mm_cmpgt_epi32(a, b), b, a)
#define MAX_S32(a, b) PICK_S32(_mm_cmpgt_epi32(a, b), a, b)
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
static inline int32_t SUM_OF_S32(__m128i v) {
    v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32(v, 0xB1)));
}

static inline __m128i LESS_ONE(__m128i v, __m128i x, __m128i limit) {
    return _mm_add_epi32(v, _mm_cmpgt_epi32(limit, x));
}

/* v + 2^31, unsigned, times a factor that is not negative, has 2^31 times the factor too much. */
#define SPLAT_S64(x) _mm_set1_epi64x(x)
static inline __m128i HIGH_MUL_ADD(__m128i v, __m128i factor, __m128i addend) {
    const __m128i x = _mm_xor_si128(v, _mm_set1_epi32(INT32_MIN));
    const __m128i rest = _mm_sub_epi64(addend, _mm_slli_epi64(factor, 31));
    const __m128i even = _mm_add_epi64(_mm_mul_epu32(x, factor), rest);
    const __m128i odd = _mm_add_epi64(_mm_mul_epu32(_mm_srli_epi64(x, 32), factor), rest);
    return _mm_unpacklo_epi32(_mm_shuffle_epi32(even, 0x0D), _mm_shuffle_epi32(odd, 0x0D));
}

enum { JOINED = 4 };
#define VECTOR_U8 __m128i
#define SPLAT_U8(x) _mm_set1_epi8((char)(x))
#define STORE_U8(p, v) STORE_S32(p, v)
#define XOR_U8(a, b) _mm_xor_si128(a, b)
INLINE_S32 __m128i JOIN(const __m128i v[JOINED], const bool is_signed) {
    const __m128i first = _mm_packs_epi32(v[0], v[1]), second = _mm_packs_epi32(v[2], v[3]);
    return is_signed ? _mm_packs_epi16(first, second) : _mm_packus_epi16(first, second);
}
INLINE_S32 __m128i CLAMP_U8(__m128i v, __m128i low, __m128i high, const bool is_signed) {
    const __m128i flip = _mm_set1_epi8(is_signed ? (char)0x80 : 0);
    v = _mm_max_epu8(XOR_U8(v, flip), XOR_U8(low, flip));
    return XOR_U8(_mm_min_epu8(v, XOR_U8(high, flip)), flip);
}

#endif
