/* matmul_s8.c -- tiles of pairs, or of one row, whose sums are stored. */
#include "simd/avx2/pairs.h"
#include "simd/variants.h"

#define LOAD_SUMS(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE_SUMS(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define ADD(a, b) _mm256_add_epi32(a, b)
#define MULTIPLY(factor, b) _mm256_mullo_epi32(_mm256_set1_epi32(factor), b)
#define IN_TURN(v) _mm256_permute4x64_epi64(v, 0xD8)

#include "simd/tiles/matmul_s8_sums.h"

INLINE void store_row(const ml_matmul_s8_args *p, int64_t output, const int vectors,
                      const __m256i *sums) {
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++, output += SUMS) {
        const int64_t left = p->n - output;
        if (left <= 0) return;
        __m256i sum = sums[v];
        if (p->bias) sum = ADD(sum, load_sums(p->bias + output, left));
        if (p->factors) sum = ADD(sum, MULTIPLY(*p->factors, load_sums(p->columns + output, left)));
        store_sums(p->y + output, sum, left);
    }
}

#define FINISH_ROW(own, output, vectors, sums) store_row(own, output, vectors, sums)
#include "simd/avx2/row_s8.h"

void ml_matmul_s8_avx2(const ml_matmul_s8_args *p) {
    const int64_t groups = row_groups(p);
    if (p->rows == 1 && groups * GROUP <= ROW_BYTES) multiply_row(p, p, groups);
    else multiply_to_sums(p);
}
