/* map_f32_scalar.c -- the functions of map_f32.h. */
#include "vector_scalar.h"

#define FUNCTION ml_map_f32_scalar
#include "map_f32.h"
