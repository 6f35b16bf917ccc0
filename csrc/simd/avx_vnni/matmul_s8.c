/* matmul_s8.c -- matmul_s8 and product_f32: tiles whose sums are stored, or become floats in their
 * registers. */
#include "simd/avx_vnni/dot.h"

#include "simd/tiles/matmul_s8_dot.h"

void ml_matmul_s8_avx_vnni(const ml_matmul_s8_args *p) { multiply_lines(p, NULL, 1, 0); }

void ml_product_f32_avx_vnni(const ml_simd *simd, const ml_matmul_s8_args *p,
                             const ml_scale_s32_args *floats, int64_t lines, int64_t line_stride) {
    multiply_lines(p, floats, lines, line_stride);
}
