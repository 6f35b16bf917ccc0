/* level.c -- the variants of level sse2. */
#include "simd/words.h"

const ml_simd ML_TABLE = {
    .level = "sse2",
    .matmul_s8_quarters = 3,
    .matmul_f32_panel = PANEL_F32,
    .matmul_f32_rows = ROWS_F32,
    .depthwise_f32_held = 16,
    .depthwise_s8_group = 2,
    .winograd = 1,
    .winograd_moved = 8,
#include "simd/loops.h"
    OWN(depthwise_s8),
    OWN(interleave_s8),
    OWN(matmul_s8),
    OWN(product_f32),
    OWN(requantize),
};
