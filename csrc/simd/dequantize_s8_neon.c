/* dequantize_s8_neon.c -- the loops of dequantize_s8.h. */
#include "vector_s32_neon.h"

#define FUNCTION ml_dequantize_s8_neon
#include "dequantize_s8.h"
