/* fold_f32_scalar.c -- folds of floats to one, as fold_f32.h has it. */
#include "vector_scalar.h"

#define FUNCTION ml_fold_f32_scalar
#include "fold_f32.h"
