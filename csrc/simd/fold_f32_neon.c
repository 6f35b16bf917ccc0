/* fold_f32_neon.c -- folds of floats to one, as fold_f32.h has it. */
#include "vector_neon.h"

#define FUNCTION ml_fold_f32_neon
#include "fold_f32.h"
