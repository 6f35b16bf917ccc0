/* scale_s32_neon.c -- the loops of scale_s32.h. */
#include "vector_s32_neon.h"

#define FUNCTION ml_scale_s32_neon
#include "scale_s32.h"
