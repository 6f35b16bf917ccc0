/* matmul_f32.c -- tiles of 6 rows times one panel of two vectors: 12 sums, 2 of weights and a
 * value of a row. */
#include <immintrin.h>
#include <stdint.h>
#include <stdbool.h>

#include "simd/variants.h"

#define VECTOR __m256
#define LANES 8
#define ROWS 6
#define PANEL 16
#define TILES(X) \
    X(1, 4) X(1, 2) X(1, 1) X(2, 2) X(2, 1) X(3, 2) X(3, 1) X(4, 1) X(5, 1) X(6, 1)

#define STEPS 2
#define ZERO() _mm256_setzero_ps()
#define BROADCAST(x) _mm256_set1_ps(x)
#define LOAD(p) _mm256_loadu_ps(p)
#define LOAD_PART(p, count) _mm256_maskload_ps(p, first(count))
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define STORE_PART(p, v, count) _mm256_maskstore_ps(p, first(count), v)
#define MULTIPLY_ADD(a, b, sum) _mm256_fmadd_ps(a, b, sum)
#define ADD(a, b) _mm256_add_ps(a, b)
#define MAX(limit, v) _mm256_max_ps(limit, v)
#define MIN(limit, v) _mm256_min_ps(limit, v)

static inline __m256i first(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#include "simd/tiles/matmul_f32.h"

void ml_matmul_f32_avx2(const ml_matmul_f32_args *p) { multiply(p); }
