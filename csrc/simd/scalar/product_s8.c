/* product_s8.c -- product_s8 by the level's matmul_s8 and requantize or requantize_f64. */
#include "simd/tiles/product_s8.h"

#include "simd/variants.h"

void ml_product_s8_scalar(const ml_simd *simd, const ml_matmul_s8_args *p,
                          const ml_requantize_args *bytes, int64_t lines, int64_t line_stride) {
    const whole_product whole = product_of_bytes(simd, p, bytes, lines, line_stride);
    multiply_all(&whole);
}
