/* average_pool_s8_avx512.c -- sixteen channels a vector, summed in 32 bits.
 *
 * The mean is (sum +- count / 2) / count, truncated: exact in float as a product with a reciprocal that is not below the true one,
 * as long as count times 256 stays below 2^22. */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "math/float_math.h"
#include "simd.h"

#define FUNCTION average
#define VECTOR __m512i
#define ELEMENT uint8_t
#define LANES 16

#define FIRST(count) ((__mmask16)((1u << (count)) - 1))
#define WIDEN(v, sign) ((sign) ? _mm512_cvtepi8_epi32(v) : _mm512_cvtepu8_epi32(v))
#define LOAD(p, sign) WIDEN(_mm_loadu_si128((const __m128i *)(const void *)(p)), sign)
#define LOAD_PART(p, count, sign) WIDEN(_mm_maskz_loadu_epi8(FIRST(count), p), sign)
#define STORE(p, v) _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi32_epi8(v))
#define STORE_PART(p, v, count) _mm512_mask_cvtepi32_storeu_epi8(p, FIRST(count), v)
#define INITIAL(sign) _mm512_setzero_si512()
#define MERGE(total, x, sign) _mm512_add_epi32(total, x)
#define FINISH(k, v, sign) finish(k, v)

static void average(const ml_pool_args *p);

enum { MOST_TAPS = 8192 };

typedef struct constants {
    __m512 half, reciprocal;
    __m512i low, high;
} constants;

static inline constants begin(const ml_pool_args *p) {
    const int64_t count = p->height * p->width;
    float reciprocal = 1.0f / (float)count;
    if ((double)reciprocal * (double)count < 1.0)
        reciprocal = ml_float_of_bits(ml_bits_of_float(reciprocal) + 1);
    return (constants){_mm512_set1_ps((float)(count / 2)), _mm512_set1_ps(reciprocal),
                       _mm512_set1_epi32(p->low), _mm512_set1_epi32(p->high)};
}

static inline __m512i finish(const constants *k, __m512i sum) {
    const __m512 real = _mm512_cvtepi32_ps(sum);
    const __m512 half = _mm512_or_ps(k->half, _mm512_and_ps(real, _mm512_set1_ps(-0.0f)));
    const __m512i v = _mm512_cvttps_epi32(_mm512_mul_ps(_mm512_add_ps(real, half), k->reciprocal));
    return _mm512_min_epi32(k->high, _mm512_max_epi32(k->low, v));
}

#include "pool_tile.h"

void ml_average_pool_s8_avx512(const ml_pool_args *p) {
    if (p->height * p->width <= MOST_TAPS) average(p);
    else ml_average_pool_s8_scalar(p);
}
