/* fold_f32_avx2.c -- folds of floats to one, as fold_f32.h has it. */
#include "vector_avx2.h"

#define FUNCTION ml_fold_f32_avx2
#include "fold_f32.h"
