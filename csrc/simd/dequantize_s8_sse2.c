/* dequantize_s8_sse2.c -- the loops of dequantize_s8.h. */
#include "vector_s32_sse2.h"

#define FUNCTION ml_dequantize_s8_sse2
#include "dequantize_s8.h"
