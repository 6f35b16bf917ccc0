/* transpose_x4.c -- squares of eight rows, as transpose_x4.h has them. */
#include "simd/tiles/transpose_x4.h"

void ml_transpose_x4_avx2(const ml_transpose_args *p) { transpose(p); }
