/* quantize_s16_scalar.c -- the loops of quantize_s16.h. */
#define FUNCTION ml_quantize_s16_scalar
#include "quantize_s16.h"
