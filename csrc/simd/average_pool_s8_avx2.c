/* average_pool_s8_avx2.c -- eight channels a vector, summed in 32 bits.
 *
 * The mean is (sum +- count / 2) / count, truncated: exact in float as a product with a reciprocal that is not below the true one,
 * as long as count times 256 stays below 2^22. */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "math/float_math.h"
#include "simd.h"

#define FUNCTION average
#define VECTOR __m256i
#define ELEMENT uint8_t
#define LANES 8

#define WIDEN(v, sign) ((sign) ? _mm256_cvtepi8_epi32(v) : _mm256_cvtepu8_epi32(v))
#define LOAD(p, sign) WIDEN(_mm_loadl_epi64((const __m128i *)(const void *)(p)), sign)
#define LOAD_PART(p, count, sign) WIDEN(load_part(p, count), sign)
#define STORE(p, v) store_part(p, v, LANES)
#define STORE_PART(p, v, count) store_part(p, v, count)
#define INITIAL(sign) _mm256_setzero_si256()
#define MERGE(total, x, sign) _mm256_add_epi32(total, x)
#define FINISH(k, v, sign) finish(k, v)

static void average(const ml_pool_args *p);

enum { MOST_TAPS = 8192 };

typedef struct constants {
    __m256 half, reciprocal;
    __m256i low, high;
} constants;

static inline constants begin(const ml_pool_args *p) {
    const int64_t count = p->height * p->width;
    float reciprocal = 1.0f / (float)count;
    if ((double)reciprocal * (double)count < 1.0)
        reciprocal = ml_float_of_bits(ml_bits_of_float(reciprocal) + 1);
    return (constants){_mm256_set1_ps((float)(count / 2)), _mm256_set1_ps(reciprocal),
                       _mm256_set1_epi32(p->low), _mm256_set1_epi32(p->high)};
}

static inline __m256i finish(const constants *k, __m256i sum) {
    const __m256 real = _mm256_cvtepi32_ps(sum);
    const __m256 half = _mm256_or_ps(k->half, _mm256_and_ps(real, _mm256_set1_ps(-0.0f)));
    const __m256i v = _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_add_ps(real, half), k->reciprocal));
    return _mm256_min_epi32(k->high, _mm256_max_epi32(k->low, v));
}

static inline __m128i load_part(const uint8_t *p, int count) {
    int64_t bytes = 0;
    memcpy(&bytes, p, (size_t)count);
    return _mm_cvtsi64_si128(bytes);
}

static inline void store_part(uint8_t *p, __m256i v, int count) {
    const __m256i low_bytes = _mm256_set1_epi32(0x0C080400);
    v = _mm256_shuffle_epi8(v, low_bytes);
    const __m128i eight =
        _mm_unpacklo_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    const int64_t bytes = _mm_cvtsi128_si64(eight);
    memcpy(p, &bytes, (size_t)count);
}

#include "pool_tile.h"

void ml_average_pool_s8_avx2(const ml_pool_args *p) {
    if (p->height * p->width <= MOST_TAPS) average(p);
    else ml_average_pool_s8_scalar(p);
}
