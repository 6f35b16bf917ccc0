/* product_s8_neon.c -- ml_matmul_s8_neon and ml_requantize_neon. */
#define FUNCTION ml_product_s8_neon
#define MATMUL ml_matmul_s8_neon
#define REQUANTIZE ml_requantize_neon
#include "product_s8.h"
