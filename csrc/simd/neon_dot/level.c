/* level.c -- the variants of level neon_dot. */
#include "simd/variants.h"

const ml_simd ML_TABLE = {
    .level = "neon_dot",
    .matmul_s8_quarters = 1,
    .depthwise_s8_group = 4,
    .depthwise_s8_bytes = 1,
    .depthwise_s8_less = 128,
    OWN(depthwise_product_s8),
    OWN(depthwise_s8),
    OWN(interleave_s8),
    OWN(matmul_s8),
    OWN(product_f32),
    OWN(product_s8),
    OWN(sum_rows_s8),
};
