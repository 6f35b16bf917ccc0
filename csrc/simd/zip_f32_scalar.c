/* zip_f32_scalar.c -- functions of two floats, as zip_f32.h has it. */
#include "vector_scalar.h"

#define FUNCTION ml_zip_f32_scalar
#include "zip_f32.h"
