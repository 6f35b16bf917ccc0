/* resource.h -- variables and tables of the interpreter, shared by all its signatures, which nodes
 * reach by a handle. */
#ifndef ML_CONTROL_RESOURCE_H
#define ML_CONTROL_RESOURCE_H

#include "control/control.h"

/* Sets the error: the input is not a handle of a variable. Returns NULL. */
ml_block *ml_resource_refused(const ml_call *call, int32_t input);
/* The variable of a handle, once the node has been reached; if there is none NULL, and the error is
 * set. */
static inline ml_block *ml_resource_of(const ml_call *c, int32_t input) {
    const ml_interpreter *interpreter = c->env->engine->engine->state->interpreter;
    const int32_t *handle = ml_in(c, input);
    if (ml_in_tensor(c, input)->bytes != (int64_t)sizeof *handle || handle[0] < 0 ||
        handle[0] >= interpreter->n_resources)
        return ml_resource_refused(c, input);
    return &interpreter->resources[handle[0]];
}

#endif
