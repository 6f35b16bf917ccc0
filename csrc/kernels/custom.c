/* custom.c -- operators that live in Python: their shapes come from a shape function, or from eval itself. */
#include "../engine.h"

#define CUSTOM_FIELDS(X, S) X(S, i32, has_shape)
ML_PARAMS(custom_params, CUSTOM_FIELDS)

static ml_status prepare_custom(ml_prepare *p) {
    const custom_params *params = p->params;
    if (!params->has_shape || !p->state) return ml_dynamic(p);
    ml_shape shapes[16];
    if (p->n_outputs > 16) return ml_fail(p->error, ML_SHAPE_ERROR, "%d outputs with a shape function: at most 16", p->n_outputs);
    ml_call call = {.inputs = p->inputs,
                    .outputs = p->outputs,
                    .data = p->data,
                    .tensors = p->tensors,
                    .error = p->error,
                    .state = p->state,
                    .n_inputs = p->n_inputs,
                    .n_outputs = p->n_outputs,
                    .handler = p->handler,
                    .frame = p->frame,
                    .node = p->node};
    ml_status status = (ml_status)p->state->hooks.shape(p->state->hooks.owner, &call, shapes);
    if (status != ML_OK) return ml_fail(p->error, status, "its shape function raised");
    for (int32_t i = 0; i < p->n_outputs && status == ML_OK; i++) status = ml_set_shape(p, i, &shapes[i]);
    return status;
}

ML_KERNELS(custom) = {
    ML_KERNEL("custom", custom_params, 0, ML_KERNEL_HAS_EFFECTS | ML_KERNEL_SETS_SHAPES, prepare_custom, NULL),
    ML_KERNELS_END,
};
