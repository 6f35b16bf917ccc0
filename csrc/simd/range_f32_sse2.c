/* range_f32_sse2.c -- the loops of range_f32.h. */
#include "vector_sse2.h"

#define FUNCTION ml_range_f32_sse2
#include "range_f32.h"
