/* power.c -- POW, ATAN2: functions of two numbers by libm, with numpy's broadcasting. */
#include <math.h>

#include "math/loops.h"
#include "math/float_math.h"
#include "rules/broadcast.h"

/* Squares and cubes, rounded once: products of two floats are exact in double. */
static void small_powers(const float *x, float *y, int64_t n, bool cubes) {
    ML_IVDEP
    for (int64_t i = 0; i < n; i++) {
        const double u = x[i];
        y[i] = (float)(cubes ? u * u * u : u * u);
    }
}
static void pow_f32_row(const ml_call *c, const float *a, const float *b, float *y, int64_t n,
                        int32_t kind) {
    const int64_t a_step = kind != ML_ROW_SCALAR_A, b_step = kind != ML_ROW_SCALAR_B;
    if (b_step == 0 && (*b == 2.0f || *b == 3.0f)) small_powers(a, y, n, *b == 3.0f);
    else
        for (int64_t i = 0; i < n; i++) y[i] = powf(a[i * a_step], b[i * b_step]);
}
ML_BINARY_ROWS(pow_f32, float, float)
/* Integers ------------------------------------------------------------------------------------- */

/* Raises by squaring; wraps. Exponents below 0 are refused. */
static inline int32_t power(int32_t base, int32_t exponent) {
    uint32_t y = 1, square = (uint32_t)base;
    for (; exponent > 0; exponent >>= 1, square *= square)
        if (exponent & 1) y *= square;
    return (int32_t)y;
}
ML_BINARY(pow_any_s32, int32_t, int32_t, ML_NO_CONTEXT, power(u, v))
static ml_status check_exponents(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                 void *args) {
    const int32_t *exponents = ml_in(c, 1);
    for (int64_t i = first; i < end; i++)
        if (exponents[i] < 0)
            return ml_fail(c, ML_KERNEL_ERROR, "exponent %d of element %lld is below 0",
                           exponents[i], (long long)i);
    return ML_OK;
}
static ml_status pow_s32(const ml_call *c) {
    const int64_t n = ml_elements(&ml_in_tensor(c, 1)->shape);
    const ml_status status = ml_in_blocks(c, n, 1, check_exponents, NULL);
    return status == ML_OK ? pow_any_s32(c) : status;
}

ML_BINARY(atan2_f32, float, float, ML_NO_CONTEXT, atan2f(u, v))
ML_BINARY(atan2_f64, double, double, ML_NO_CONTEXT, atan2(u, v))
ML_BINARY(atan2_f16, uint16_t, uint16_t, ML_NO_CONTEXT,
          ml_half_of_float(atan2f(ml_float_of_half(u), ml_float_of_half(v))))

#define BINARY .takes = "a b -> y", .in_place = ML_INPUT(0) | ML_INPUT(1), ML_PREPARED_BROADCAST
ML_KERNELS(power) = {
    {ML_OP(POW, 1, 1), .name = "pow", .flags = ML_KERNEL_REFUSES_VALUES, BINARY,
     ML_TYPED({"f32 f32 -> f32", NULL, NULL, pow_f32}, {"s32 s32 -> s32", NULL, NULL, pow_s32})},
    {ML_OP(ATAN2, 1, 1), .name = "atan2", BINARY,
     ML_TYPED({"f32 f32 -> f32", NULL, NULL, atan2_f32}, {"f64 f64 -> f64", NULL, NULL, atan2_f64},
              {"f16 f16 -> f16", NULL, NULL, atan2_f16}, {"bf16 bf16 -> bf16", NULL, NULL, NULL})},
    ML_KERNELS_END,
};
