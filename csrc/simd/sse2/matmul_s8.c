/* matmul_s8.c -- matmul_s8 and product_f32 by pmaddwd: tiles of 6 rows times 4 outputs. */
#include "simd/words.h"

#define OUTPUTS 2
#define ROWS 6
#define ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define WEIGHTS(p) weights_of(p)
#define FOUR(p) four(p)
#define WIDEN_SIXTEEN(from, flip, to) widen_16(from, flip, to)
#define WIDEN_EIGHT(from, flip, to) widen_8(from, flip, to)
#define WIDEN_FOUR(from, flip, to) widen_4(from, flip, to)
#define JOIN_PAIRS(a, b) join(a, b)
#define IN_TURN(v) (v)

static inline __m128i weights_of(const int8_t *p) {
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)p);
    return _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
}

static inline __m128i four(const int16_t *p) {
    const __m128i values = _mm_loadl_epi64((const __m128i *)(const void *)p);
    return _mm_unpacklo_epi64(values, values);
}

static inline void widen_16(const uint8_t *from, int32_t flip, int16_t *to) {
    const __m128i bytes = _mm_xor_si128(_mm_set1_epi8((char)flip),
                                        _mm_loadu_si128((const __m128i *)(const void *)from));
    const __m128i zero = _mm_setzero_si128();
    _mm_storeu_si128((__m128i *)(void *)to, _mm_unpacklo_epi8(bytes, zero));
    _mm_storeu_si128((__m128i *)(void *)(to + 8), _mm_unpackhi_epi8(bytes, zero));
}

static inline void widen_8(const uint8_t *from, int32_t flip, int16_t *to) {
    const __m128i flipped = _mm_xor_si128(_mm_set1_epi8((char)flip),
                                          _mm_loadl_epi64((const __m128i *)(const void *)from));
    _mm_storeu_si128((__m128i *)(void *)to, _mm_unpacklo_epi8(flipped, _mm_setzero_si128()));
}

static inline void widen_4(const uint8_t *from, int32_t flip, int16_t *to) {
    int32_t bytes;
    __builtin_memcpy(&bytes, from, sizeof bytes);
    const __m128i flipped = _mm_xor_si128(_mm_set1_epi8((char)flip), _mm_cvtsi32_si128(bytes));
    _mm_storel_epi64((__m128i *)(void *)to, _mm_unpacklo_epi8(flipped, _mm_setzero_si128()));
}

static inline __m128i join(__m128i a, __m128i b) {
    const __m128 u = _mm_castsi128_ps(a), v = _mm_castsi128_ps(b);
    return _mm_add_epi32(_mm_castps_si128(_mm_shuffle_ps(u, v, 0x88)),
                         _mm_castps_si128(_mm_shuffle_ps(u, v, 0xDD)));
}

#include "simd/tiles/matmul_s8_sums.h"

void ml_matmul_s8_sse2(const ml_matmul_s8_args *p) {
    const product q = product_of(p, NULL);
    multiply(p, &q, 1, 0);
}

void ml_product_f32_sse2(const ml_simd *simd, const ml_matmul_s8_args *p,
                         const ml_scale_s32_args *floats, int64_t lines, int64_t line_stride) {
    const product q = product_of(p, floats);
    multiply(p, &q, lines, line_stride);
}
