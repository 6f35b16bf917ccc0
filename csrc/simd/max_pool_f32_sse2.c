/* max_pool_f32_sse2.c -- the loops of max_pool_f32.h. */
#include "vector_sse2.h"

#define FUNCTION ml_max_pool_f32_sse2
#include "max_pool_f32.h"
