/* add_s8_neon.c -- the loops of add_s8.h. */
#include "vector_s32_neon.h"

#define FUNCTION ml_add_s8_neon
#include "add_s8.h"
