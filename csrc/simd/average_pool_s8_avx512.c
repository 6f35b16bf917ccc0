/* average_pool_s8_avx512.c -- the loops of average_pool_s8.h. */
#include "vector_s32_avx512.h"

#define FUNCTION ml_average_pool_s8_avx512
#include "average_pool_s8.h"
