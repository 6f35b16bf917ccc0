/* zip_f32_avx512.c -- functions of two floats, as zip_f32.h has it. */
#include "vector_avx512.h"

#define FUNCTION ml_zip_f32_avx512
#include "zip_f32.h"
