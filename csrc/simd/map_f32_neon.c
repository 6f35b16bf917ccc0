/* map_f32_neon.c -- the functions of map_f32.h. */
#include "vector_neon.h"

#define FUNCTION ml_map_f32_neon
#include "map_f32.h"
