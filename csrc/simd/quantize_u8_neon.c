/* quantize_u8_neon.c -- the loops of quantize_u8.h. */
#include "vector_s32_neon.h"

#define FUNCTION ml_quantize_u8_neon
#include "quantize_u8.h"
