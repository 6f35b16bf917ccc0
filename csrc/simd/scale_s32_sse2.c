/* scale_s32_sse2.c -- the loops of scale_s32.h. */
#include "vector_s32_sse2.h"

#define FUNCTION ml_scale_s32_sse2
#include "scale_s32.h"
