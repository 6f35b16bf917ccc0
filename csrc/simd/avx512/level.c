/* level.c -- the variants of level avx512. */
#include "simd/words.h"

const ml_simd ML_TABLE = {
    .level = "avx512",
    .matmul_s8_quarters = 1,
    .matmul_f32_panel = PANEL_F32,
    .matmul_f32_rows = ROWS_F32,
    .matmul_s8_flipped = 1,
    .depthwise_s8_group = 4,
    .winograd = 2,
    .winograd_moved = 16,
#include "simd/loops.h"
    OWN(add_s16),
    OWN(depthwise_product_s8),
    OWN(depthwise_s8),
    OWN(fold_u8),
    OWN(interleave_s8),
    OWN(lookup_u8),
    OWN(matmul_s8),
    OWN(narrow_f16),
    OWN(product_f32),
    OWN(product_s8),
    OWN(requantize),
    OWN(requantize_f64),
    OWN(softmax_s8),
    OWN(transpose_x4),
    OWN(widen_f16),
};
