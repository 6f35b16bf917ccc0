/* sum_rows_s8_sse2.c -- the loops of sum_rows_s8.h. */
#include "vector_s32_sse2.h"

#define FUNCTION ml_sum_rows_s8_sse2
#include "sum_rows_s8.h"
