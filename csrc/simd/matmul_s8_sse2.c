/* matmul_s8_sse2.c -- pmaddwd: tiles of 2 rows times 8 outputs. */
#include <emmintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define FUNCTION ml_matmul_s8_sse2
#define VECTOR __m128i
#define OUTPUTS 2
#define ROWS 2
#define VECTORS 4
#define ROW_COUNTS(X) X(1) X(2)
#define ZERO() _mm_setzero_si128()
#define WEIGHTS(p) weights_of(p)
#define FOUR(p) four(p)
#define ADD_PAIRS(a, w, sum) _mm_add_epi32(_mm_madd_epi16(a, w), sum)
#define JOIN(sums, y) join(sums, y)

static inline __m128i weights_of(const int8_t *p) {
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)p);
    return _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
}

static inline __m128i four(const int16_t *p) {
    const __m128i values = _mm_loadl_epi64((const __m128i *)(const void *)p);
    return _mm_unpacklo_epi64(values, values);
}

/* The pairs of two vectors added: four sums. */
static inline __m128i pairs(__m128i a, __m128i b) {
    const __m128 x = _mm_castsi128_ps(a), y = _mm_castsi128_ps(b);
    return _mm_add_epi32(_mm_castps_si128(_mm_shuffle_ps(x, y, 0x88)),
                         _mm_castps_si128(_mm_shuffle_ps(x, y, 0xDD)));
}

static inline void join(const __m128i *sums, int32_t *y) {
    _mm_storeu_si128((__m128i *)(void *)y, pairs(sums[0], sums[1]));
    _mm_storeu_si128((__m128i *)(void *)(y + 4), pairs(sums[2], sums[3]));
}

#include "matmul_s8_wide.h"
