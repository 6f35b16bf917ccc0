/* product_s8_avx2.c -- ml_matmul_s8_avx2 and ml_requantize_avx2. */
#define FUNCTION ml_product_s8_avx2
#define MATMUL ml_matmul_s8_avx2
#define REQUANTIZE ml_requantize_avx2
#include "product_s8.h"
