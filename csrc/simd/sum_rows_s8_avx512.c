/* sum_rows_s8_avx512.c -- the loops of sum_rows_s8.h. */
#include "vector_s32_avx512.h"

#define FUNCTION ml_sum_rows_s8_avx512
#include "sum_rows_s8.h"
