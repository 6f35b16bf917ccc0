/* level.c -- the variants of level neon. */
#include "simd/words.h"

const ml_simd ML_TABLE = {
    .level = "neon",
    .matmul_s8_quarters = 2,
    .matmul_s8_narrow = 1,
    .matmul_f32_panel = PANEL_F32,
    .matmul_f32_rows = ROWS_F32,
    .depthwise_s8_group = 1,
    .depthwise_s8_bytes = 1,
    .depthwise_s8_narrow = 1,
    .winograd = 2,
    .winograd_moved = 8,
#include "simd/loops.h"
    OWN(add_s16),
    OWN(depthwise_narrow_s8),
    OWN(depthwise_product_s8),
    OWN(depthwise_s8),
    OWN(fold_u8),
    OWN(interleave_s8),
    OWN(matmul_s8),
    OWN(product_f32),
    OWN(product_s8),
    OWN(requantize),
    OWN(requantize_f64),
    OWN(softmax_s8),
#ifdef __aarch64__
    OWN(lookup_u8),
    OWN(narrow_f16),
    OWN(widen_f16),
#endif
};
