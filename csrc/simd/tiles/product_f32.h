/* product_f32.h -- product_f32 by the level's matmul_s8 and scale_s32. */
#include "simd/tiles/product_parts.h"

static inline void scale_part(const ml_simd *simd, const void *outputs, const product_part *part) {
    ml_scale_s32_args to = *(const ml_scale_s32_args *)outputs;
    to.sums = part->sums;
    to.rows = part->rows;
    to.n = to.sums_stride = part->n;
    to.scales += part->row;
    to.weights += part->column;
    if (to.bias) to.bias += part->column;
    to.y += part->row * to.y_stride + part->column;
    simd->scale_s32(&to);
}

static inline void multiply_to_floats(const ml_simd *simd, const ml_matmul_s8_args *sums,
                                      const ml_scale_s32_args *floats, int64_t lines,
                                      int64_t line_stride) {
    const whole_product whole = {simd, sums, floats, scale_part, lines, line_stride};
    multiply_all(&whole);
}
