/* compare_f32_neon.c -- the comparisons of compare_f32.h. */
#include "vector_neon.h"

#define FUNCTION ml_compare_f32_neon
#include "compare_f32.h"
