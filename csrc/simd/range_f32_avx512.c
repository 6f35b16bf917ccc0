/* range_f32_avx512.c -- the loops of range_f32.h. */
#include "vector_avx512.h"

#define FUNCTION ml_range_f32_avx512
#include "range_f32.h"
