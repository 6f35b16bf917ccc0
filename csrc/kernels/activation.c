/* activation.c -- RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1, LOGISTIC: output shape = input shape, may run in place.
 *
 * Every 8-bit function is a table of 256 bytes that Python computes. RELU* of 16 bits requantizes with double rounding.
 */
#include "math/fixed_point.h"
#include "math/float_math.h"
#include "kernel.h"

#define CLAMP_FIELDS(X, S) X(S, f32, minimum) X(S, f32, maximum)
ML_PARAMS(clamp_params, CLAMP_FIELDS)

/* table: 256 bytes, by the input's byte. */
#define LOOKUP_FIELDS(X, S) X(S, array, table)
ML_PARAMS(lookup_params, LOOKUP_FIELDS)

#define RELU_S16_FIELDS(X, S) \
    X(S, i32, mantissa) X(S, i32, shift) X(S, i32, input_zero_point) X(S, i32, zero_point) \
    X(S, i32, minimum) X(S, i32, maximum)
ML_PARAMS(relu_s16_params, RELU_S16_FIELDS)

typedef struct elementwise_blob {
    int64_t count;
} elementwise_blob;

static ml_status prepare_elementwise(const ml_call *c, ml_wish *wish) {
    elementwise_blob *blob = c->blob;
    blob->count = ml_elements(&ml_input(c, 0)->shape);
    return ml_set_output(c, 0, &ml_input(c, 0)->shape);
}

/* y = min(max(x, minimum), maximum); NaN stays NaN. */
static ml_status relu_f32(const ml_call *c) {
    const clamp_params *params = c->params;
    const elementwise_blob *blob = c->blob;
    const float *x = ml_in(c, 0);
    float *y = ml_out(c, 0);
    const float low = params->minimum, high = params->maximum;
    _Pragma("GCC ivdep") for (int64_t i = 0; i < blob->count; i++) {
        float v = x[i];
        v = v < low ? low : v;
        y[i] = v > high ? high : v;
    }
    return ML_OK;
}

/* y = 1 / (1 + exp(-x)), within 4 ULP; exp of a negative number, so that nothing overflows. */
static ml_status logistic_f32(const ml_call *c) {
    const elementwise_blob *blob = c->blob;
    const float *x = ml_in(c, 0);
    float *y = ml_out(c, 0);
    _Pragma("GCC ivdep") for (int64_t i = 0; i < blob->count; i++) {
        float v = x[i], e = ml_exp_f32(v > 0.0f ? -v : v);
        y[i] = (v > 0.0f ? 1.0f : e) / (1.0f + e);
    }
    return ML_OK;
}

static ml_status lookup_8(const ml_call *c) {
    const lookup_params *params = c->params;
    const elementwise_blob *blob = c->blob;
    const uint8_t *x = ml_in(c, 0), *table = params->table.data;
    uint8_t *y = ml_out(c, 0);
    for (int64_t i = 0; i < blob->count; i++) y[i] = table[x[i]];
    return ML_OK;
}

/* TFLite's ReluX: requantize with double rounding, then clamp. */
static ml_status relu_s16(const ml_call *c) {
    const relu_s16_params *p = c->params;
    const elementwise_blob *blob = c->blob;
    const int16_t *x = ml_in(c, 0);
    int16_t *y = ml_out(c, 0);
    for (int64_t i = 0; i < blob->count; i++) {
        int32_t v = ml_multiply_quantized(x[i] - p->input_zero_point, p->mantissa, p->shift) +
                    p->zero_point;
        y[i] = (int16_t)ml_clamp_s32(v, p->minimum, p->maximum);
    }
    return ML_OK;
}

#define ROW(name, params, eval) ML_KERNEL(name, params, sizeof(elementwise_blob), 0, prepare_elementwise, eval)
ML_KERNELS(activation) = {
    ROW("relu_f32", clamp_params, relu_f32),
    ROW("relu_s16", relu_s16_params, relu_s16),
    ROW("lookup_8", lookup_params, lookup_8),
    ML_KERNEL_NO_PARAMS("logistic_f32", sizeof(elementwise_blob), 0, prepare_elementwise,
                        logistic_f32),
    ML_KERNELS_END,
};
