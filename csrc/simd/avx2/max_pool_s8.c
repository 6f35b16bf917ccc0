/* max_pool_s8.c -- thirty-two channels a vector. */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "simd/variants.h"

#define CHANNELS __m256i
#define ELEMENT uint8_t
#define LANES 32

#define READ(p, sign) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define READ_PART(p, count, sign) load_part(p, count)
#define WRITE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define WRITE_PART(p, v, count) store_part(p, v, count)
#define INITIAL(sign) _mm256_set1_epi8((sign) ? INT8_MIN : 0)
#define MERGE(a, b, sign) ((sign) ? _mm256_max_epi8(a, b) : _mm256_max_epu8(a, b))
#define LESSER(a, b, sign) ((sign) ? _mm256_min_epi8(a, b) : _mm256_min_epu8(a, b))
#define FINISH(k, v, sign) LESSER((k)->high, MERGE((k)->low, v, sign), sign)

typedef struct constants {
    __m256i low, high;
} constants;

static inline constants begin(const ml_pool_args *p) {
    return (constants){_mm256_set1_epi8((char)p->low), _mm256_set1_epi8((char)p->high)};
}

static inline __m256i load_part(const uint8_t *p, int count) {
    uint8_t bytes[LANES] = {0};
    memcpy(bytes, p, (size_t)count);
    return READ(bytes, false);
}

static inline void store_part(uint8_t *p, __m256i v, int count) {
    uint8_t bytes[LANES];
    WRITE(bytes, v);
    memcpy(p, bytes, (size_t)count);
}

#include "simd/tiles/pool.h"

void ml_max_pool_s8_avx2(const ml_pool_args *p) {
    if (p->n < LANES / 2) ml_max_pool_s8_scalar(p);
    else if (p->is_signed) pool(p, true);
    else pool(p, false);
}
