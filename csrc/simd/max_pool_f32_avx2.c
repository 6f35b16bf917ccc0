/* max_pool_f32_avx2.c -- the loops of max_pool_f32.h. */
#include "vector_avx2.h"

#define FUNCTION ml_max_pool_f32_avx2
#include "max_pool_f32.h"
