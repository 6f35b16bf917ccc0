/* zip_f32_sse2.c -- functions of two floats, as zip_f32.h has it. */
#include "vector_sse2.h"

#define FUNCTION ml_zip_f32_sse2
#include "zip_f32.h"
