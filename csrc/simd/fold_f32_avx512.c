/* fold_f32_avx512.c -- folds of floats to one, as fold_f32.h has it. */
#include "vector_avx512.h"

#define FUNCTION ml_fold_f32_avx512
#include "fold_f32.h"
