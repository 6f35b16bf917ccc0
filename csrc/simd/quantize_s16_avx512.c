/* quantize_s16_avx512.c -- the loops of quantize_s16.h. */
#define FUNCTION ml_quantize_s16_avx512
#include "quantize_s16.h"
