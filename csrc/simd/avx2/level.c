/* level.c -- the variants of level avx2. */
#include "simd/words.h"

const ml_simd ML_TABLE = {
    .level = "avx2",
    .matmul_s8_quarters = 3,
    .matmul_f32_panel = PANEL_F32,
    .matmul_f32_rows = ROWS_F32,
    .depthwise_f32_held = 16,
    .depthwise_s8_group = 2,
    .depthwise_s8_bytes = 1,
    .winograd = 1,
    .winograd_moved = 8,
    .nibbles = 1,
#include "simd/loops.h"
    OWN(add_s16),
    OWN(depthwise_product_s8),
    OWN(depthwise_s8),
    OWN(fold_u8),
    OWN(interleave_s8),
    OWN(lookup_u8),
    OWN(matmul_s4),
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
