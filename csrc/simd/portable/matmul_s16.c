/* matmul_s16.c -- matmul_s16 in the words of a level. */
#include "simd/tiles/matmul_s16.h"

void ML_VARIANT(matmul_s16)(const ml_matmul_s16_args *p) { multiply_all(p); }
