/* matmul_s8.c -- matmul_s8 and product_f32: tiles whose sums are stored, or become floats in their
 * registers. Weights that lie apart are neon_dot's. */
#include "simd/i8mm/matrix.h"
#include "simd/variants.h"

#include "simd/neon/product_sums.h"

ml_matmul_s8_fn ml_matmul_s8_neon_dot;
ml_product_f32_fn ml_product_f32_neon_dot;

void ml_matmul_s8_i8mm(const ml_matmul_s8_args *p) {
    if (p->apart) ml_matmul_s8_neon_dot(p);
    else multiply_lines(p, NULL, 1, 0);
}

void ml_product_f32_i8mm(const ml_simd *simd, const ml_matmul_s8_args *p,
                         const ml_scale_s32_args *floats, int64_t lines, int64_t line_stride) {
    if (p->apart) ml_product_f32_neon_dot(simd, p, floats, lines, line_stride);
    else multiply_lines(p, floats, lines, line_stride);
}
