/* matmul_s8.c -- pmaddwd: tiles of 6 rows times 4 outputs. */
#include <emmintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "simd/variants.h"

#define VECTOR __m128i
#define OUTPUTS 2
#define ROWS 6
#define VECTORS 2
#define ALONE 4
#define ROW_COUNTS(X) X(2) X(3) X(4) X(5) X(6)
#define ZERO() _mm_setzero_si128()
#define WEIGHTS(p) weights_of(p)
#define FOUR(p) four(p)
#define WIDEN(from, flip, to) widen_16(from, flip, to)
#define ADD_PAIRS(a, w, sum) _mm_add_epi32(_mm_madd_epi16(a, w), sum)
#define JOIN(a, b, y) join(a, b, y)

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

static inline void join(__m128i a, __m128i b, int32_t *y) {
    const __m128 u = _mm_castsi128_ps(a), v = _mm_castsi128_ps(b);
    const __m128i sums = _mm_add_epi32(_mm_castps_si128(_mm_shuffle_ps(u, v, 0x88)),
                                       _mm_castps_si128(_mm_shuffle_ps(u, v, 0xDD)));
    _mm_storeu_si128((__m128i *)(void *)y, sums);
}

#include "simd/tiles/matmul_s8_wide.h"

void ml_matmul_s8_sse2(const ml_matmul_s8_args *p) { multiply(p); }
