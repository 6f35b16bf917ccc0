/* average_pool_f32_sse2.c -- the loops of average_pool_f32.h. */
#include "vector_sse2.h"

#define FUNCTION ml_average_pool_f32_sse2
#include "average_pool_f32.h"
