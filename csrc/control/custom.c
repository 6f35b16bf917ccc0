/* custom.c -- custom operators written in Python: their shapes come from a shape function, or from
 * eval itself. */
#include "run/loop.h"

#define CUSTOM_FIELDS(X, S) X(S, i32, has_shape)
ML_PARAMS(custom_params, CUSTOM_FIELDS)

static ml_status prepare_custom(const ml_call *c, ml_wish *wish) {
    const custom_params *params = c->params;
    if (!params->has_shape || !c->env->engine->engine->hooks) return ml_open_all(wish);
    ml_shape shapes[16];
    if (c->n_outputs > 16)
        return ml_fail(c, ML_SHAPE_ERROR, "%d outputs with a shape function: at most 16",
                       c->n_outputs);
    const ml_hooks *hooks = c->env->engine->engine->hooks;
    ml_status status = (ml_status)hooks->shape(hooks->owner, c, shapes);
    if (status != ML_OK) return ml_fail(c, status, "its shape function raised");
    for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++)
        status = ml_set_output(c, i, &shapes[i]);
    return status;
}

ML_KERNELS(custom) = {
    ML_KERNEL("custom", custom_params, 0, ML_KERNEL_HAS_EFFECTS | ML_KERNEL_SETS_SHAPES,
              prepare_custom, NULL),
    ML_KERNELS_END,
};
