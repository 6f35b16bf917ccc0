/* resource.c -- finds out why a handle is refused. */
#include "control/resource.h"

ml_block *ml_resource_refused(const ml_call *c, int32_t input) {
    const ml_interpreter *interpreter = c->env->engine->engine->state->interpreter;
    const ml_tensor *t = ml_input(c, input);
    const int32_t *handle = ml_value(c, input);
    if (ml_elements(&t->shape) != 1)
        ml_fail(c, ML_KERNEL_ERROR, "input %d, a resource, has %lld elements, must have 1", input,
                (long long)ml_elements(&t->shape));
    else
        ml_fail(c, ML_KERNEL_ERROR, "resource %d does not exist: the model has %d", handle[0],
                interpreter->n_resources);
    return NULL;
}
