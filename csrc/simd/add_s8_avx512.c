/* add_s8_avx512.c -- the loops of add_s8.h. */
#include "vector_s32_avx512.h"

#define FUNCTION ml_add_s8_avx512
#include "add_s8.h"
