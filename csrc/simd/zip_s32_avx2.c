/* zip_s32_avx2.c -- the loops of zip_s32.h. */
#define FUNCTION ml_zip_s32_avx2
#include "zip_s32.h"
