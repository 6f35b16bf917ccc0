/* activation.c -- RELU, RELU6: elementwise, output shape = input shape, may run in place. */
#include "../kernel.h"

#define CLAMP_FIELDS(X, S) X(S, f32, minimum) X(S, f32, maximum)
ML_PARAMS(clamp_params, CLAMP_FIELDS)

typedef struct elementwise_blob {
    int64_t count;
} elementwise_blob;

static ml_status prepare_elementwise(ml_prepare *p) {
    elementwise_blob *blob = p->blob;
    blob->count = ml_elements(&ml_input(p, 0)->shape);
    return ml_set_shape(p, 0, &ml_input(p, 0)->shape);
}

/* y = min(max(x, minimum), maximum); NaN stays NaN. */
static ml_status relu_f32(const ml_call *c) {
    const clamp_params *params = c->params;
    const elementwise_blob *blob = c->blob;
    const float *x = ml_in(c, 0);
    float *y = ml_out(c, 0);
    float low = params->minimum, high = params->maximum;
    for (int64_t i = 0; i < blob->count; i++) {
        float v = x[i];
        v = v < low ? low : v;
        y[i] = v > high ? high : v;
    }
    return ML_OK;
}

ML_KERNELS(activation) = {
    ML_KERNEL("relu_f32", clamp_params, sizeof(elementwise_blob), 0, prepare_elementwise, relu_f32),
    ML_KERNELS_END,
};
