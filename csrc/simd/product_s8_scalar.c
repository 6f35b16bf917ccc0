/* product_s8_scalar.c -- ml_matmul_s8_scalar and ml_requantize_scalar. */
#define FUNCTION ml_product_s8_scalar
#define MATMUL ml_matmul_s8_scalar
#define REQUANTIZE ml_requantize_scalar
#include "product_s8.h"
