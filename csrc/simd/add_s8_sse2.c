/* add_s8_sse2.c -- the loops of add_s8.h. */
#include "vector_s32_sse2.h"

#define FUNCTION ml_add_s8_sse2
#include "add_s8.h"
