/* transpose_x4.c -- squares of sixteen rows; see transpose_x4.h. */
#include "simd/tiles/transpose_x4.h"

void ml_transpose_x4_avx512(const ml_transpose_args *p) { transpose(p); }
