/* add_s8_avx2.c -- the loops of add_s8.h. */
#include "vector_s32_avx2.h"

#define FUNCTION ml_add_s8_avx2
#include "add_s8.h"
