/* average_pool_f32_neon.c -- the loops of average_pool_f32.h. */
#include "vector_neon.h"

#define FUNCTION ml_average_pool_f32_neon
#include "average_pool_f32.h"
