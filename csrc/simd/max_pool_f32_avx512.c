/* max_pool_f32_avx512.c -- the loops of max_pool_f32.h. */
#include "vector_avx512.h"

#define FUNCTION ml_max_pool_f32_avx512
#include "max_pool_f32.h"
