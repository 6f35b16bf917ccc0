/* variable.c -- VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE: tensors that the state keeps from run to run. */
#include "run/engine.h"

#define HANDLE_FIELDS(X, S) X(S, i32, resource)
ML_PARAMS(handle_params, HANDLE_FIELDS)

static ml_status prepare_var_handle(const ml_call *c, ml_wish *wish) {
    return ml_set_output(c, 0, &ml_output(c, 0)->shape);
}

static ml_status var_handle(const ml_call *c) {
    const handle_params *params = c->params;
    int32_t *out = ml_out(c, 0);
    if (ml_out_tensor(c, 0)->bytes >= (int64_t)sizeof *out) out[0] = params->resource;
    return ML_OK;
}

static ml_buffer *find_resource(const ml_call *c, const void *handle) {
    const ml_state *s = c->env->engine->state;
    int32_t number = *(const int32_t *)handle;
    if (number >= 0 && number < s->graph->n_resources) return &s->resources[number];
    ml_fail(c, ML_KERNEL_ERROR, "resource %d does not exist: the model has %d", number,
            s->graph->n_resources);
    return NULL;
}

static ml_status prepare_read(const ml_call *c, ml_wish *wish) {
    const void *handle = ml_value(c, 0);
    if (!c->data || !handle) return ml_open_all(wish);
    const ml_buffer *resource = find_resource(c, handle);
    if (!resource) return ML_KERNEL_ERROR;
    if (!resource->assigned)
        return ml_fail(c, ML_KERNEL_ERROR, "the variable is read before it is assigned");
    if (resource->type != ml_output(c, 0)->type)
        return ml_fail(c, ML_KERNEL_ERROR, "the variable holds type %d, the output has type %d",
                       resource->type, ml_output(c, 0)->type);
    return ml_set_output(c, 0, &resource->shape);
}

static ml_status read_variable(const ml_call *c) {
    const ml_buffer *resource = find_resource(c, ml_in(c, 0));
    if (!resource) return ML_KERNEL_ERROR;
    if (resource->bytes > 0) memcpy(ml_out(c, 0), resource->data, (size_t)resource->bytes);
    return ML_OK;
}

static ml_status prepare_assign(const ml_call *c, ml_wish *wish) {
    if (!ml_input(c, 0) || !ml_input(c, 1))
        return ml_fail(c, ML_SHAPE_ERROR, "takes a handle and a value, one is absent");
    return ML_OK;
}

static ml_status assign_variable(const ml_call *c) {
    ml_buffer *resource = find_resource(c, ml_in(c, 0));
    return resource ? ml_buffer_set(resource, ml_in_tensor(c, 1), ml_in(c, 1), c->env->error)
                    : ML_KERNEL_ERROR;
}

ML_KERNELS(variable) = {
    ML_KERNEL("var_handle", handle_params, 0, 0, prepare_var_handle, var_handle),
    ML_KERNEL_NO_PARAMS("read_variable", 0, ML_KERNEL_HAS_EFFECTS, prepare_read, read_variable),
    ML_KERNEL_NO_PARAMS("assign_variable", 0, ML_KERNEL_HAS_EFFECTS, prepare_assign,
                        assign_variable),
    ML_KERNELS_END,
};
