/* numeric_verify.c -- NumericVerify: the difference between quantized values and the reference
 * values given. */
#include <math.h>

#include "math/float_math.h"
#include "rules/elementwise.h"

#define VERIFY_FIELDS(X, S) X(S, f32, tolerance, ML_NUMBER_OR("tolerance", 0)) X(S, i32, ends, ML_FLAG_OR("log_if_failed", 0))
ML_PARAMS(verify_params, VERIFY_FIELDS)

static ml_status prepare_verify(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape, *other = &ml_input(c, 1)->shape;
    char one[96], text[96];
    if (!ml_same_shape(x, other))
        return ml_fail(c, ML_SHAPE_ERROR, "shapes %s and %s must be equal", ml_shape_text(x, one),
                       ml_shape_text(other, text));
    return ml_prepare_elementwise(c, wish);
}

/* A difference above the tolerance, in steps of the input, ends the run; never if it is
 * infinite. */
#define VERIFY(suffix, type, REAL) \
    static ml_status verify_##suffix##_block(const ml_call *c, int64_t first, int64_t end, \
                                             int32_t worker, void *args) { \
        const ml_affine q = ml_input_affine(c, 0); \
        const float most = ((const verify_params *)c->params)->tolerance * q.scale; \
        const float *expected = ml_in(c, 1); \
        const type *x = ml_in(c, 0); \
        float *y = ml_out(c, 0); \
        for (int64_t i = first; i < end; i++) { \
            y[i] = REAL(x[i]) - expected[i]; \
            if (__builtin_fabsf(y[i]) > most) \
                return ml_fail(c, ML_KERNEL_ERROR, "element %lld differs by %g from %g, expected at most %g", \
                               (long long)i, (double)y[i], (double)expected[i], (double)most); \
        } \
        return ML_OK; \
    } \
    ML_ELEMENTWISE(verify_##suffix, verify_##suffix##_block)
#define STEPS(v) (q.scale * (float)((v) - q.zero_point))
VERIFY(u8, uint8_t, STEPS)
VERIFY(s8, int8_t, STEPS)
VERIFY(s16, int16_t, STEPS)

static ml_status verify_f16_block(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                  void *args) {
    const float *expected = ml_in(c, 1);
    const uint16_t *x = ml_in(c, 0);
    float *y = ml_out(c, 0);
    for (int64_t i = first; i < end; i++) y[i] = ml_float_of_half(x[i]) - expected[i];
    return ML_OK;
}
ML_ELEMENTWISE(verify_f16, verify_f16_block)

/* The tolerance in steps; infinity if differences never end the run. */
static ml_status check_verify(const ml_call *c, void *params) {
    verify_params *p = params;
    if (!p->ends || !(p->tolerance >= 0.1f)) p->tolerance = INFINITY;
    return ML_OK;
}

ML_KERNELS(numeric_verify) = {
    {ML_CUSTOM_OP("NumericVerify", 1, 1), .name = "numeric_verify", .takes = "x expected -> y",
     .quantization = ML_TAKES_QUANTIZED, .check = check_verify, ML_PARAMS_OF(verify_params),
     .blob_bytes = sizeof(ml_elementwise), .prepare = prepare_verify,
     ML_TYPED({"u8 f32 -> f32", NULL, NULL, verify_u8}, {"s8 f32 -> f32", NULL, NULL, verify_s8},
              {"s16 f32 -> f32", NULL, NULL, verify_s16},
              {"f16 f32 -> f32", NULL, NULL, verify_f16})},
    ML_KERNELS_END,
};
