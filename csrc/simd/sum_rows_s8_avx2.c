/* sum_rows_s8_avx2.c -- the loops of sum_rows_s8.h. */
#include "vector_s32_avx2.h"

#define FUNCTION ml_sum_rows_s8_avx2
#include "sum_rows_s8.h"
