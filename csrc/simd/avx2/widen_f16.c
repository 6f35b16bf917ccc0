/* widen_f16.c -- eight at a time by the processor's conversion. */
#include "simd/tiles/convert_f16.h"

void ml_widen_f16_avx2(const uint16_t *x, int64_t n, float *y) { widen(x, n, y); }
