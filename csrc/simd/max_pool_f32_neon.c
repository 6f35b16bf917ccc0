/* max_pool_f32_neon.c -- the loops of max_pool_f32.h. */
#include "vector_neon.h"

#define FUNCTION ml_max_pool_f32_neon
#include "max_pool_f32.h"
