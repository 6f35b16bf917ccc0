/* depthwise_product_s8_scalar.c -- ml_depthwise_s8_scalar and ml_requantize_scalar. */
#define FUNCTION ml_depthwise_product_s8_scalar
#define DEPTHWISE ml_depthwise_s8_scalar
#define REQUANTIZE ml_requantize_scalar
#include "depthwise_product_s8.h"
