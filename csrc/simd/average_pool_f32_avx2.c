/* average_pool_f32_avx2.c -- the loops of average_pool_f32.h. */
#include "vector_avx2.h"

#define FUNCTION ml_average_pool_f32_avx2
#include "average_pool_f32.h"
