/* level.c -- the variants of level amx. */
#include "simd/variants.h"

const ml_simd ML_TABLE = {
    .level = "amx",
    .matmul_s8_quarters = 1,
    .matmul_s8_flipped = 1,
    OWN(matmul_s8),
    OWN(product_f32),
    OWN(product_s8),
};
