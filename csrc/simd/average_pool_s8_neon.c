/* average_pool_s8_neon.c -- the loops of average_pool_s8.h. */
#include "vector_s32_neon.h"

#define FUNCTION ml_average_pool_s8_neon
#include "average_pool_s8.h"
