/* compare_f32_sse2.c -- the comparisons of compare_f32.h. */
#include "vector_sse2.h"

#define FUNCTION ml_compare_f32_sse2
#include "compare_f32.h"
