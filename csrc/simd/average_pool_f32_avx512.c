/* average_pool_f32_avx512.c -- the loops of average_pool_f32.h. */
#include "vector_avx512.h"

#define FUNCTION ml_average_pool_f32_avx512
#include "average_pool_f32.h"
