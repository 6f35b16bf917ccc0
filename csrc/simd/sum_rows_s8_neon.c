/* sum_rows_s8_neon.c -- the loops of sum_rows_s8.h. */
#include "vector_s32_neon.h"

#define FUNCTION ml_sum_rows_s8_neon
#include "sum_rows_s8.h"
