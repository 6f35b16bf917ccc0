/* quantize_s8_avx512.c -- the loops of quantize_s8.h. */
#include "vector_s32_avx512.h"

#define FUNCTION ml_quantize_s8_avx512
#include "quantize_s8.h"
