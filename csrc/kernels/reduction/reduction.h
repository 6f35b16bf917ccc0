/* reduction.h -- functions that the files of the reductions share: the multipliers of MEAN, and
 * MEAN of bytes. */
#ifndef ML_KERNELS_REDUCTION_H
#define ML_KERNELS_REDUCTION_H

#include "rules/quantized.h"
#include "rules/reduce.h"
#include "simd/simd.h"

int64_t ml_derive_mean(const ml_call *c, void *to);
/* The conversion of a sum of `count` (> 0) elements to their mean. */
ml_rescale ml_mean_rescale(const ml_call *c);

/* True if requantize turns the sums of bytes into means; and that computation, by sums in
 * scratch. */
bool ml_can_requantize_mean(const ml_call *c);
ml_status ml_requantized_mean(const ml_call *c);

#endif
