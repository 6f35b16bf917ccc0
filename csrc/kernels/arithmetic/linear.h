/* linear.h -- expresses a sum of terms of two bytes as one linear form in integers, and a product
 * as one in floats. */
#ifndef ML_KERNELS_ARITHMETIC_LINEAR_H
#define ML_KERNELS_ARITHMETIC_LINEAR_H

#include "kernels/arithmetic/arithmetic.h"
#include "simd/simd.h"

/* The term of each byte of either input, and how a sum of two terms is converted. */
typedef struct arithmetic_tables {
    ml_rescale out;
    int32_t a[256]; /* by the input's byte */
    int32_t b[256];
} arithmetic_tables;

/* Constants for add_s8 with which all 65 536 pairs of bytes give the same results as the tables,
 * except for a few pairs, mostly none. */
enum { ML_MOST_ODD = 4 };
typedef struct odd_pair {
    uint8_t a;
    uint8_t b;
    uint8_t y; /* its result */
} odd_pair;
typedef struct arithmetic_linear {
    ml_add_s8_args args;
    int32_t odd_count;
    odd_pair odd[ML_MOST_ODD];
} arithmetic_linear;

/* Finds such constants; false if there are none. `x` and `y` are the inputs and the output, `sign`
 * is that of the second input's terms. */
bool ml_find_linear(const arithmetic_tables *t, const ml_affine x[2], ml_affine y, int32_t sign,
                    arithmetic_linear *to);
/* Finds a factor and a nudge for mul_s8 with which all products of bytes give the same results as
 * by `out`; false if there are none. */
bool ml_find_real(const ml_rescale *out, ml_mul_s8_args *to);

#endif
