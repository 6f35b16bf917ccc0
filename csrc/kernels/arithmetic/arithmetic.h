/* arithmetic.h -- types and functions that the files of ADD, SUB, MUL and SQUARED_DIFFERENCE
 * share. */
#ifndef ML_KERNELS_ARITHMETIC_H
#define ML_KERNELS_ARITHMETIC_H

#include "rules/broadcast.h"
#include "rules/quantized.h"

ML_GROUP(clamp_params, ML_CLAMP_FIELDS)
#define ADD_FIELDS(X, S) ML_CLAMP_FIELDS(X, S) X(S, i32, pot_scale_int16)
ML_GROUP(add_params, ADD_FIELDS)

/* Turns two quantized operands into one output. */
typedef struct arithmetic_terms {
    ml_rescale out; /* of sums and products: their zero point is 0 */
    ml_rescale a;
    ml_rescale b;
} arithmetic_terms;

/* For sums: converts both inputs to a common scale, twice the larger one, and shifts them left by
 * `left` bits, as many as their sum allows. */
void ml_fill_sum(const ml_call *c, arithmetic_terms *p, int32_t left);
/* Fills `p` for products. */
void ml_fill_product(const ml_call *c, arithmetic_terms *p);
/* An input's share of a sum. */
static inline int32_t ml_sum_term(int32_t x, const ml_rescale *p, int32_t left) {
    const uint32_t shifted = (uint32_t)(x - p->input_zero_point) << left;
    return ml_multiply_quantized((int32_t)shifted, p->mantissa, p->shift);
}

/* For bytes, s8 and u8. */
int64_t ml_derive_add_bytes(const ml_call *c, void *to);
int64_t ml_derive_sub_bytes(const ml_call *c, void *to);
int64_t ml_derive_mul_bytes(const ml_call *c, void *to);
int64_t ml_derive_squared_difference_bytes(const ml_call *c, void *to);
ml_status ml_add_bytes(const ml_call *c); /* and SUB, whose derived block differs */
ml_status ml_mul_bytes(const ml_call *c);
ml_status ml_squared_difference_bytes(const ml_call *c);

#endif
