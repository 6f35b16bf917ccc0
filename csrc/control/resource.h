/* resource.h -- variables and tables that nodes reach by a handle: the interpreter's, which all its
 * signatures share. */
#ifndef ML_CONTROL_RESOURCE_H
#define ML_CONTROL_RESOURCE_H

#include "control/control.h"

/* Says why an input is no handle of a variable; NULL. */
ml_block *ml_resource_refused(const ml_call *call, int32_t input);
/* The variable that a handle stands for; NULL, and the error, when there is none. When the node has
 * been reached. */
static inline ml_block *ml_resource_of(const ml_call *c, int32_t input) {
    const ml_interpreter *interpreter = c->env->engine->engine->state->interpreter;
    const int32_t *handle = c->inputs[input] < 0 ? NULL : ml_in(c, input);
    if (!handle || ml_in_tensor(c, input)->bytes != (int64_t)sizeof *handle || handle[0] < 0 ||
        handle[0] >= interpreter->n_resources)
        return ml_resource_refused(c, input);
    return &interpreter->resources[handle[0]];
}

#endif
