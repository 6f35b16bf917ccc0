/* product_s8.c -- tiles whose sums become bytes in registers; neon_dot has those of weights that
 * lie apart. */
#include "simd/i8mm/matrix.h"
#include "simd/variants.h"

#include "simd/neon/product_bytes.h"

ml_product_s8_fn ml_product_s8_neon_dot;

void ml_product_s8_i8mm(const ml_simd *simd, const ml_matmul_s8_args *p,
                        const ml_requantize_args *bytes, int64_t lines, int64_t line_stride) {
    if (p->apart) ml_product_s8_neon_dot(simd, p, bytes, lines, line_stride);
    else multiply_to_bytes(simd, p, bytes, lines, line_stride);
}
