/* product_s8.c -- tiles whose sums become bytes in registers. */
#include "simd/neon/pairs.h"
#include "simd/variants.h"

#include "simd/neon/product_bytes.h"

void ml_product_s8_neon(const ml_simd *simd, const ml_matmul_s8_args *p,
                        const ml_requantize_args *bytes, int64_t lines, int64_t line_stride) {
    ml_matmul_s8_args part = *p;
    part.sums = NULL; /* they would not follow the outputs */
    if (has_byte_ends(bytes)) multiply_to_bytes(p, bytes, lines, line_stride);
    else ml_product_s8_scalar(simd, &part, bytes, lines, line_stride);
}
