/* dequantize_s8_avx512.c -- the loops of dequantize_s8.h. */
#include "vector_s32_avx512.h"

#define FUNCTION ml_dequantize_s8_avx512
#include "dequantize_s8.h"
