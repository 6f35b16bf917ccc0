/* quantize_s8_neon.c -- the loops of quantize_s8.h. */
#include "vector_s32_neon.h"

#define FUNCTION ml_quantize_s8_neon
#include "quantize_s8.h"
