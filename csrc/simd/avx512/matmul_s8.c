/* matmul_s8.c -- matmul_s8 and product_f32: tiles of 14 rows times two vectors of 16 outputs, or 6
 * times four, whose sums are stored, or become floats in their registers. */
#define ROW_AHEAD 4096
#define MOST_ROWS 14
#define MOST_VECTORS 4
#define MOST_SUMS 28
#define TILES(X)                                                                                 \
    X(1, 4) X(1, 3) X(1, 2) X(1, 1) X(2, 4) X(2, 3) X(2, 2) X(2, 1) X(3, 4) X(3, 3) X(3, 2)      \
    X(3, 1) X(4, 4) X(4, 3) X(4, 2) X(4, 1) X(5, 4) X(5, 3) X(5, 2) X(5, 1) X(6, 4) X(6, 3)      \
    X(6, 2) X(6, 1) X(7, 2) X(7, 1) X(8, 2) X(8, 1) X(9, 2) X(9, 1) X(10, 2) X(10, 1) X(11, 2)   \
    X(11, 1) X(12, 2) X(12, 1) X(13, 2) X(13, 1) X(14, 2) X(14, 1)

#include "simd/tiles/matmul_s8_dot.h"

void ml_matmul_s8_avx512(const ml_matmul_s8_args *p) { multiply_lines(p, NULL, 1, 0); }

void ml_product_f32_avx512(const ml_simd *simd, const ml_matmul_s8_args *p,
                           const ml_scale_s32_args *floats, int64_t lines, int64_t line_stride) {
    multiply_lines(p, floats, lines, line_stride);
}
