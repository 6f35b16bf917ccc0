/* average_pool_s8_avx2.c -- the loops of average_pool_s8.h. */
#include "vector_s32_avx2.h"

#define FUNCTION ml_average_pool_s8_avx2
#include "average_pool_s8.h"
