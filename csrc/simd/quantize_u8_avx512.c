/* quantize_u8_avx512.c -- the loops of quantize_u8.h. */
#include "vector_s32_avx512.h"

#define FUNCTION ml_quantize_u8_avx512
#include "quantize_u8.h"
