/* floats.h -- product_f32 by the tiles of matmul_s8, whose file defines it. */
#include "simd/simd.h"

void ml_multiply_to_floats_neon_dot(const ml_matmul_s8_args *p, const ml_scale_s32_args *floats,
                                    int64_t lines, int64_t line_stride);
