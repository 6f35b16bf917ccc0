/* map_f32_sse2.c -- the functions of map_f32.h. */
#include "vector_sse2.h"

#define FUNCTION ml_map_f32_sse2
#include "map_f32.h"
