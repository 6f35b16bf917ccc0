/* level.c -- the variants of level i8mm. */
#include "simd/variants.h"

const ml_simd ML_TABLE = {
    .level = "i8mm",
    .matmul_s8_quarters = 1,
    .matmul_s8_pairs = 1,
    OWN(matmul_s8),
    OWN(pack_s8),
    OWN(product_f32),
    OWN(product_s8),
};
