/* product_s8.c -- multiplies enough rows by ml_matmul_s8_amx; all others by ml_product_s8_avx512,
 * which keeps sums in registers. */
#define PRODUCT_ROWS 64
#include "simd/tiles/product_s8.h"
#include "simd/amx/tiles.h"
#include "simd/variants.h"

ml_product_s8_fn ml_product_s8_avx512;

void ml_product_s8_amx(const ml_simd *simd, const ml_matmul_s8_args *p,
                       const ml_requantize_args *bytes, int64_t lines, int64_t line_stride) {
    if (!takes_tiles(p)) {
        ml_product_s8_avx512(simd, p, bytes, lines, line_stride);
        return;
    }
    const whole_product whole = product_of_bytes(simd, p, bytes, lines, line_stride);
    multiply_all(&whole);
}
