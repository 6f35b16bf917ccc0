/* matmul_s8.c -- tiles of 6 rows times two vectors of 8 outputs. */
#include <immintrin.h>
#include <stdint.h>

#include "simd/variants.h"

#define VECTOR __m256i
#define LANES 8
#define MASK __m256i
#define MOST_ROWS 6
#define MOST_VECTORS 4
#define MOST_SUMS 12
#define TILES(X) \
    X(1, 4) X(1, 2) X(2, 4) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2)

#define FIRST(count) first(count)
#define ZERO() _mm256_setzero_si256()
#define SET(x) _mm256_set1_epi32(x)
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define LOAD_PART(there, p) _mm256_maskload_epi32(p, there)
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define STORE_PART(p, there, v) _mm256_maskstore_epi32(p, there, v)
#define DOT(sum, bytes, weights) _mm256_dpbusd_avx_epi32(sum, bytes, weights)
#define ADD(a, b) _mm256_add_epi32(a, b)
#define XOR(a, b) _mm256_xor_si256(a, b)
#define MULTIPLY(a, b) _mm256_mullo_epi32(a, b)

static inline __m256i first(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#include "simd/tiles/matmul_s8_dot.h"

void ml_matmul_s8_avx_vnni(const ml_matmul_s8_args *p) { multiply(p); }
