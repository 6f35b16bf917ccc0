/* level.c -- the variants of level scalar, which has all primitives. */
#include "simd/words.h"

const ml_simd ML_TABLE = {
    .level = "scalar",
    .matmul_s8_quarters = 4,
    .matmul_f32_panel = PANEL_F32,
    .matmul_f32_rows = ROWS_F32,
    .depthwise_s8_group = 2,
#define PRIMITIVE(name, returns, parameters) OWN(name),
#include "simd/primitives.def"
#undef PRIMITIVE
};
