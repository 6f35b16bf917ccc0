/* matmul_s8.c -- matmul_s8 and product_f32: tiles of pairs, or of one row, whose sums are stored,
 * or become floats in their registers. */
#include "simd/avx2/pairs.h"

#define IN_TURN(v) _mm256_permute4x64_epi64(v, 0xD8)

#include "simd/tiles/matmul_s8_sums.h"

#define FINISH_ROW(own, output, vectors, sums) \
    store_tile(own, true, true, 0, output, 1, vectors, sums)
#include "simd/avx2/row_s8.h"

INLINE void multiply_lines(const ml_matmul_s8_args *p, const ml_scale_s32_args *floats,
                           int64_t lines, int64_t line_stride) {
    const int64_t groups = row_groups(p);
    const product q = product_of(p, floats);
    if (lines * p->rows == 1 && groups * GROUP <= ROW_BYTES) multiply_row(p, &q, groups);
    else multiply(p, &q, lines, line_stride);
}

void ml_matmul_s8_avx2(const ml_matmul_s8_args *p) { multiply_lines(p, NULL, 1, 0); }

void ml_product_f32_avx2(const ml_simd *simd, const ml_matmul_s8_args *p,
                         const ml_scale_s32_args *floats, int64_t lines, int64_t line_stride) {
    multiply_lines(p, floats, lines, line_stride);
}
