/* compare_f32_scalar.c -- the comparisons of compare_f32.h. */
#include "vector_scalar.h"

#define FUNCTION ml_compare_f32_scalar
#include "compare_f32.h"
