/* quantize_s8_avx2.c -- the loops of quantize_s8.h. */
#include "vector_s32_avx2.h"

#define FUNCTION ml_quantize_s8_avx2
#include "quantize_s8.h"
