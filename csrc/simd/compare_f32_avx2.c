/* compare_f32_avx2.c -- the comparisons of compare_f32.h. */
#include "vector_avx2.h"

#define FUNCTION ml_compare_f32_avx2
#include "compare_f32.h"
