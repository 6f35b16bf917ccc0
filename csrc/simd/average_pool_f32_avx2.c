/* average_pool_f32_avx2.c -- eight channels a vector. */
#include <immintrin.h>
#include <stdbool.h>

#include "api/minilite.h"
#include "api/simd.h"

#define FUNCTION ml_average_pool_f32_avx2
#define VECTOR __m256
#define ELEMENT float
#define LANES 8

#define LOAD(p, sign) _mm256_loadu_ps(p)
#define LOAD_PART(p, count, sign) _mm256_maskload_ps(p, first(count))
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define STORE_PART(p, v, count) _mm256_maskstore_ps(p, first(count), v)
#define INITIAL(sign) _mm256_setzero_ps()
/* Limits leave NaN as it is. */
#define MERGE(total, x, sign) _mm256_add_ps(total, x)
#define FINISH(k, v, sign) finish(k, v)

typedef struct constants {
    __m256 low, high, count;
} constants;

static inline constants begin(const ml_pool_args *p) {
    return (constants){_mm256_set1_ps(p->minimum), _mm256_set1_ps(p->maximum),
                       _mm256_set1_ps((float)(p->height * p->width))};
}

static inline __m256 finish(const constants *k, __m256 v) {
    return _mm256_min_ps(k->high, _mm256_max_ps(k->low, _mm256_div_ps(v, k->count)));
}

static inline __m256i first(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#include "pool_tile.h"
