/* scale_s32_avx512.c -- the loops of scale_s32.h. */
#include "vector_s32_avx512.h"

#define FUNCTION ml_scale_s32_avx512
#include "scale_s32.h"
