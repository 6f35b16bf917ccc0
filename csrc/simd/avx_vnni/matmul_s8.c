/* matmul_s8.c -- matmul_s8 and product_f32: tiles whose sums are stored, or become floats in their
 * registers. */
#include "simd/avx2/scale.h"
#include "simd/avx_vnni/dot.h"
#include "simd/variants.h"

#define MASK __m256i
#define FIRST(count) first(count)
#define LOAD_PART(there, p) _mm256_maskload_epi32(p, there)
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define STORE_PART(p, there, v) _mm256_maskstore_epi32(p, there, v)
#define MULTIPLY(a, b) _mm256_mullo_epi32(a, b)
#define LOAD_REALS(there, p) _mm256_maskload_ps(p, there)

static inline __m256i first(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#include "simd/tiles/matmul_s8_dot.h"

void ml_matmul_s8_avx_vnni(const ml_matmul_s8_args *p) { multiply_lines(p, NULL, 1, 0); }

void ml_product_f32_avx_vnni(const ml_simd *simd, const ml_matmul_s8_args *p,
                             const ml_scale_s32_args *floats, int64_t lines, int64_t line_stride) {
    multiply_lines(p, floats, lines, line_stride);
}
