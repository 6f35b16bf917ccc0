/* complex.c -- REAL, IMAG, COMPLEX_ABS: the parts and the absolute value of complex numbers. */
#include <math.h>

#include "rules/elementwise.h"

typedef struct c64 {
    float re, im;
} c64;
typedef struct c128 {
    double re, im;
} c128;
ML_UNARY(real_c64, c64, float, ML_NO_CONTEXT, x.re)
ML_UNARY(real_c128, c128, double, ML_NO_CONTEXT, x.re)
ML_UNARY(imag_c64, c64, float, ML_NO_CONTEXT, x.im)
ML_UNARY(imag_c128, c128, double, ML_NO_CONTEXT, x.im)
ML_UNARY_BLOCK(abs_c64, c64, float, ML_NO_CONTEXT, hypotf(x.re, x.im))
ML_ELEMENTWISE_LONGER(abs_c64, abs_c64_block, 16)
ML_UNARY_BLOCK(abs_c128, c128, double, ML_NO_CONTEXT, hypot(x.re, x.im))
ML_ELEMENTWISE_LONGER(abs_c128, abs_c128_block, 16)

#define COMPLEX(operator, kernel_name, of)                                                    \
    {ML_OP(operator, 1, 1), .name = (kernel_name), .takes = "x -> y", ML_PREPARED_ELEMENTWISE, \
     ML_TYPED({"c64 -> f32", NULL, NULL, of##_c64}, {"c128 -> f64", NULL, NULL, of##_c128})}
ML_KERNELS(complex) = {
    COMPLEX(REAL, "real", real),
    COMPLEX(IMAG, "imag", imag),
    COMPLEX(COMPLEX_ABS, "complex_abs", abs),
    ML_KERNELS_END,
};
