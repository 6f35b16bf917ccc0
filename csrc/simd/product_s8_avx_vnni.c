/* product_s8_avx_vnni.c -- ml_matmul_s8_avx_vnni and ml_requantize_avx2. */
#define FUNCTION ml_product_s8_avx_vnni
#define MATMUL ml_matmul_s8_avx_vnni
#define REQUANTIZE ml_requantize_avx2
#include "product_s8.h"
