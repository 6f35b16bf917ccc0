/* dequantize_s8_avx2.c -- the loops of dequantize_s8.h. */
#include "vector_s32_avx2.h"

#define FUNCTION ml_dequantize_s8_avx2
#include "dequantize_s8.h"
