/* product_f32.c -- product_f32 by the level's matmul_s8 and scale_s32. */
#include "simd/tiles/product_f32.h"

#include "simd/variants.h"

void ml_product_f32_scalar(const ml_simd *simd, const ml_matmul_s8_args *p,
                           const ml_scale_s32_args *floats, int64_t lines, int64_t line_stride) {
    multiply_to_floats(simd, p, floats, lines, line_stride);
}
