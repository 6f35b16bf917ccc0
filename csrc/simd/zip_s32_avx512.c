/* zip_s32_avx512.c -- the loops of zip_s32.h. */
#define FUNCTION ml_zip_s32_avx512
#include "zip_s32.h"
