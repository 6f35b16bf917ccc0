/* depthwise_product_s8_sse2.c -- ml_depthwise_s8_sse2 and ml_requantize_sse2. */
#define FUNCTION ml_depthwise_product_s8_sse2
#define DEPTHWISE ml_depthwise_s8_sse2
#define REQUANTIZE ml_requantize_sse2
#include "depthwise_product_s8.h"
