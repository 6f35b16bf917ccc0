/* map_f32_avx512.c -- the functions of map_f32.h. */
#include "vector_avx512.h"

#define FUNCTION ml_map_f32_avx512
#include "map_f32.h"
