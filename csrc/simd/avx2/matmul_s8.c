/* matmul_s8.c -- tiles of pairs whose sums are stored. */
#include "simd/avx2/pairs.h"
#include "simd/variants.h"

#define LOAD_SUMS(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE_SUMS(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define ADD(a, b) _mm256_add_epi32(a, b)
#define MULTIPLY(factor, b) _mm256_mullo_epi32(_mm256_set1_epi32(factor), b)
#define IN_TURN(v) _mm256_permute4x64_epi64(v, 0xD8)

#include "simd/tiles/matmul_s8_sums.h"

void ml_matmul_s8_avx2(const ml_matmul_s8_args *p) { multiply_to_sums(p); }
