/* depthwise_product_s8_neon.c -- ml_depthwise_s8_neon and ml_requantize_neon. */
#define FUNCTION ml_depthwise_product_s8_neon
#define DEPTHWISE ml_depthwise_s8_neon
#define REQUANTIZE ml_requantize_neon
#include "depthwise_product_s8.h"
