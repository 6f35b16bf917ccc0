/* map_f32_avx2.c -- the functions of map_f32.h. */
#include "vector_avx2.h"

#define FUNCTION ml_map_f32_avx2
#include "map_f32.h"
