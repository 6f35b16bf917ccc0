/* product_f32.c -- by the tiles of matmul_s8, in whose registers sums become floats. */
#include "simd/neon/floats.h"
#include "simd/variants.h"

void ml_product_f32_neon(const ml_simd *simd, const ml_matmul_s8_args *p,
                         const ml_scale_s32_args *floats, int64_t lines, int64_t line_stride) {
    (void)simd;
    ml_multiply_to_floats_neon(p, floats, lines, line_stride);
}
