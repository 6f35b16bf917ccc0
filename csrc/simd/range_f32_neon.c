/* range_f32_neon.c -- the loops of range_f32.h. */
#include "vector_neon.h"

#define FUNCTION ml_range_f32_neon
#include "range_f32.h"
