/* matmul_s8.c -- tiles whose sums are stored. */
#include "simd/neon_dot/dot.h"
#include "simd/variants.h"

#include "simd/neon/product_sums.h"

void ml_matmul_s8_neon_dot(const ml_matmul_s8_args *p) { multiply_to_sums(p); }
