/* average_pool_s8_sse2.c -- the loops of average_pool_s8.h. */
#include "vector_s32_sse2.h"

#define FUNCTION ml_average_pool_s8_sse2
#include "average_pool_s8.h"
