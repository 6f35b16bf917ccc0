/* range_f32_avx2.c -- the loops of range_f32.h. */
#include "vector_avx2.h"

#define FUNCTION ml_range_f32_avx2
#include "range_f32.h"
