/* zip_s32_scalar.c -- the loops of zip_s32.h. */
#define FUNCTION ml_zip_s32_scalar
#include "zip_s32.h"
