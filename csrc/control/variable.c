/* variable.c -- VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE: tensors that the state keeps from run
 * to run. */
#include "control/resource.h"
#include "rules/work.h"

#define HANDLE_FIELDS(X, S) X(S, i32, resource, ML_BY_CHECK)
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

/* Gives the output the shape of the variable. */
static ml_status shape_as(const ml_call *c, const ml_block *resource) {
    if (!resource->assigned)
        return ml_fail(c, ML_KERNEL_ERROR, "the variable is read before it is assigned");
    if (resource->type != ml_output(c, 0)->type)
        return ml_fail(c, ML_KERNEL_ERROR, "the variable holds type %s, the output has type %s",
                       ml_type_name(resource->type), ml_type_name(ml_output(c, 0)->type));
    return ml_set_output(c, 0, &resource->shape);
}

static ml_status prepare_read(const ml_call *c, ml_wish *wish) {
    if (!ml_reached(c)) return ml_open_all(wish);
    const ml_block *resource = ml_resource_of(c, 0);
    return resource ? shape_as(c, resource) : ML_KERNEL_ERROR;
}

static bool holds(const ml_block *resource, const ml_tensor *t) {
    return resource->assigned && resource->type == t->type && t->shaped &&
           ml_same_shape(&resource->shape, &t->shape);
}

/* Points a borrowing output, which is hidden, at the variable's bytes. Runs do this without
 * prepare, so if nothing has changed it costs almost nothing. */
static ml_status borrow(const ml_call *c, ml_block *resource) {
    ml_point_output(c, 0, resource->data);
    return holds(resource, ml_out_tensor(c, 0)) ? ML_OK : shape_as(c, resource);
}

static ml_status read_variable(const ml_call *c) {
    ml_block *resource = ml_resource_of(c, 0);
    if (!resource) return ML_KERNEL_ERROR;
    if (ml_out_tensor(c, 0)->storage == ML_STORAGE_NONE) return borrow(c, resource);
    if (ml_type_is_heap(resource->type)) {
        ml_status status = ml_set_bytes(c, 0, resource->bytes);
        if (status != ML_OK) return status;
    }
    return ml_copy_bytes(c, ml_out(c, 0), resource->data, resource->bytes);
}

static ml_status prepare_assign(const ml_call *c, ml_wish *wish) { return ML_OK; }

static ml_status assign_variable(const ml_call *c) {
    ml_block *resource = ml_resource_of(c, 0);
    const ml_tensor *t = ml_in_tensor(c, 1);
    if (!resource) return ML_KERNEL_ERROR;
    if (holds(resource, t) && !ml_type_is_heap(t->type)) {
        if (t->bytes > 0) memmove(resource->data, ml_in(c, 1), (size_t)t->bytes);
        return ML_OK;
    }
    return ml_block_set(ml_account_of(c), resource, &t->shape, t->type, ml_in(c, 1),
                        ml_in_bytes(c, 1), c->env->error);
}

/* Gives each pair of container and shared name in the model one number. */
static ml_status check_handle(const ml_call *c, void *params) {
    const ml_node_option names[2] = {ml_option_of(c, "container"), ml_option_of(c, "shared_name")};
    const int32_t number = c->env->core->resource(c, "VAR_HANDLE", names, 2);
    ((handle_params *)params)->resource = number;
    return number < 0 ? c->env->error->status : ML_OK;
}

ML_KERNELS(variable) = {
    {ML_OP(VAR_HANDLE, 1, 1), .name = "var_handle", .takes = "-> handle",
     .flags = ML_KERNEL_NO_REFERENCE, .check = check_handle, ML_PARAMS_OF(handle_params),
     .prepare = prepare_var_handle, ML_TYPED({"-> resource", NULL, NULL, var_handle})},
    {ML_OP(READ_VARIABLE, 1, 1), .name = "read_variable", .takes = "handle -> value",
     .flags = ML_KERNEL_HAS_EFFECTS | ML_KERNEL_NO_REFERENCE, .prepare = prepare_read,
     ML_TYPED({"resource -> any", NULL, NULL, read_variable})},
    {ML_OP(ASSIGN_VARIABLE, 1, 1), .name = "assign_variable", .takes = "handle value ->",
     .flags = ML_KERNEL_HAS_EFFECTS | ML_KERNEL_NO_REFERENCE, .prepare = prepare_assign,
     ML_TYPED({"resource any ->", NULL, NULL, assign_variable})},
    ML_KERNELS_END,
};
