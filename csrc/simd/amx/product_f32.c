/* product_f32.c -- multiplies enough rows by ml_matmul_s8_amx; all others by ml_product_f32_avx512,
 * which keeps sums in registers. */
#define PRODUCT_ROWS 64
#include "simd/tiles/product_f32.h"
#include "simd/amx/tiles.h"
#include "simd/variants.h"

ml_product_f32_fn ml_product_f32_avx512;

void ml_product_f32_amx(const ml_simd *simd, const ml_matmul_s8_args *p,
                        const ml_scale_s32_args *floats, int64_t lines, int64_t line_stride) {
    if (!takes_tiles(p)) ml_product_f32_avx512(simd, p, floats, lines, line_stride);
    else multiply_to_floats(simd, p, floats, lines, line_stride);
}
