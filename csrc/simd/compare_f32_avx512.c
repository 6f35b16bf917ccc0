/* compare_f32_avx512.c -- the comparisons of compare_f32.h. */
#include "vector_avx512.h"

#define FUNCTION ml_compare_f32_avx512
#include "compare_f32.h"
