/* level.c -- the variants of level avx_vnni. */
#include "simd/variants.h"

const ml_simd ML_TABLE = {
    .level = "avx_vnni",
    .matmul_s8_quarters = 1,
    .matmul_s8_flipped = 1,
    .winograd = 2,
    .winograd_moved = 16,
    OWN(matmul_s16),
    OWN(matmul_s8),
    OWN(product_f32),
    OWN(product_s8),
};
