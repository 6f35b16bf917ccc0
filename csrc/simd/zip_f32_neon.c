/* zip_f32_neon.c -- functions of two floats, as zip_f32.h has it. */
#include "vector_neon.h"

#define FUNCTION ml_zip_f32_neon
#include "zip_f32.h"
