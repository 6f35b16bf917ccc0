/* depthwise_product_s8_avx2.c -- ml_depthwise_s8_avx2 and ml_requantize_avx2. */
#define FUNCTION ml_depthwise_product_s8_avx2
#define DEPTHWISE ml_depthwise_s8_avx2
#define REQUANTIZE ml_requantize_avx2
#include "depthwise_product_s8.h"
