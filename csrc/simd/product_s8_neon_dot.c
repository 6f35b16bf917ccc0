/* product_s8_neon_dot.c -- ml_matmul_s8_neon_dot and ml_requantize_neon. */
#define FUNCTION ml_product_s8_neon_dot
#define MATMUL ml_matmul_s8_neon_dot
#define REQUANTIZE ml_requantize_neon
#include "product_s8.h"
