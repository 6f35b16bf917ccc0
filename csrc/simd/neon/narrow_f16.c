/* narrow_f16.c -- four at a time by the processor's conversion. */
#include "simd/tiles/convert_f16.h"

void ml_narrow_f16_neon(const float *x, int64_t n, uint16_t *y) { narrow(x, n, y); }
