/* product_f32.c -- by the tiles of matmul_s8, in whose registers sums become floats. */
#include "simd/neon_dot/floats.h"
#include "simd/variants.h"

void ml_product_f32_neon_dot(const ml_simd *simd, const ml_matmul_s8_args *p,
                             const ml_scale_s32_args *floats, int64_t lines, int64_t line_stride) {
    (void)simd;
    ml_multiply_to_floats_neon_dot(p, floats, lines, line_stride);
}
