/* matmul_f32.c -- tiles of 6 rows times one panel of two vectors: 12 sums, 2 of weights and a value
 * of a row. */
#define TILES(X) \
    X(1, 4) X(1, 2) X(1, 1) X(2, 2) X(2, 1) X(3, 2) X(3, 1) X(4, 1) X(5, 1) X(6, 1)
#define STEPS 2

#include "simd/tiles/matmul_f32.h"

void ML_VARIANT(matmul_f32)(const ml_matmul_f32_args *p) { multiply(p); }
