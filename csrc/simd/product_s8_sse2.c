/* product_s8_sse2.c -- ml_matmul_s8_sse2 and ml_requantize_sse2. */
#define FUNCTION ml_product_s8_sse2
#define MATMUL ml_matmul_s8_sse2
#define REQUANTIZE ml_requantize_sse2
#include "product_s8.h"
