/* quantize_u8_sse2.c -- the loops of quantize_u8.h. */
#include "vector_s32_sse2.h"

#define FUNCTION ml_quantize_u8_sse2
#include "quantize_u8.h"
