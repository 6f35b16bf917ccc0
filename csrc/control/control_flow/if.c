/* if.c -- IF: runs one of two subgraphs on the node's operands.
 *
 * Both branches are prepared for the operands' shapes and known values. Where they agree on the shapes of all outputs, the node is
 * like any other: a branch writes its outputs straight into the node's. Where they do not, or where a shape hangs on values, the
 * outputs are open, and take the shapes of the branch that ran. */
#include "control/control.h"

typedef struct if_blob {
    int32_t fixed; /* outputs have the same known shapes whichever branch runs */
} if_blob;

enum { CONDITION = 0, BRANCHES = 2 };
static const char *const names[BRANCHES] = {"then branch", "else branch"};

static ml_status check_types(const ml_call *c, const ml_child *branches) {
    const ml_tensor *condition = ml_input(c, CONDITION);
    if (!condition || condition->type != ML_B8)
        return ml_fail(c, ML_SHAPE_ERROR, "the condition has type %s, must be b8",
                       condition ? ml_type_name(condition->type) : "none");
    if (ml_elements(&condition->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the condition has %lld elements, must have 1",
                       (long long)ml_elements(&condition->shape));
    for (int k = 0; k < BRANCHES; k++) {
        ml_status status = ml_child_check(c, &branches[k], c->n_outputs, names[k]);
        if (status != ML_OK) return status;
        if (branches[k].io->n_inputs != c->n_inputs - 1)
            return ml_fail(c, ML_SHAPE_ERROR, "the %s takes %d inputs, the node gives %d", names[k],
                           branches[k].io->n_inputs, c->n_inputs - 1);
        for (int32_t i = 0; i < c->n_outputs; i++)
            if (ml_child_output(c, &branches[k], i)->type != ml_output(c, i)->type)
                return ml_fail(c, ML_SHAPE_ERROR,
                               "output %d of the %s has type %s, the node's has %s", i, names[k],
                               ml_type_name(ml_child_output(c, &branches[k], i)->type),
                               ml_type_name(ml_output(c, i)->type));
    }
    return ML_OK;
}

static bool agree(const ml_call *c, const ml_child *branches) {
    for (int32_t i = 1; i < c->n_inputs; i++)
        if (ml_type_is_heap(ml_input(c, i)->type))
            return false; /* its bytes are not known while planning */
    for (int32_t i = 0; i < c->n_outputs; i++) {
        const ml_tensor *a = ml_child_output(c, &branches[0], i),
                        *b = ml_child_output(c, &branches[1], i);
        if (!a->shaped || !b->shaped || a->dynamic || b->dynamic || ml_type_is_heap(a->type) ||
            !ml_same_shape(&a->shape, &b->shape))
            return false;
    }
    return true;
}

static ml_status prepare_if(const ml_call *c, ml_wish *wish) {
    if_blob *blob = c->blob;
    ml_child branches[BRANCHES] = {ml_child_of(c, 0), ml_child_of(c, 1)};
    ml_status status = check_types(c, branches);
    if (status != ML_OK) return status;
    if (ml_reached(c)) return ml_open_all(wish); /* in a run: shapes follow from running */
    for (int k = 0; k < BRANCHES && status == ML_OK; k++)
        status = ml_child_sweep(c, &branches[k], false, true);
    if (status != ML_OK) return status;
    blob->fixed = agree(c, branches);
    if (!blob->fixed) {
        for (int k = 0; k < BRANCHES && status == ML_OK; k++)
            status = ml_child_sweep(c, &branches[k], true, false);
        return status == ML_OK ? ml_open_all(wish) : status;
    }
    for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++) {
        status = ml_set_output(c, i, &ml_child_output(c, &branches[0], i)->shape);
        for (int k = 0; k < BRANCHES; k++) ml_child_place_output(c, &branches[k], i);
    }
    return status;
}

static ml_status give_fixed(const ml_call *c, const ml_child *branch) {
    for (int32_t i = 0; i < c->n_outputs; i++)
        if (ml_child_output_is_placed(c, branch, i))
            branch->data[branch->io->outputs[i]] = ml_out(c, i);
    ml_status status = ml_child_run(c, branch);
    for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++) {
        ml_value_now value = ml_child_value(c, branch, i);
        if (value.bytes > 0 && value.data != ml_out(c, i))
            memcpy(ml_out(c, i), value.data, (size_t)value.bytes);
    }
    return status;
}

static ml_status give_open(const ml_call *c, const ml_child *branch) {
    ml_status status = ml_child_run(c, branch);
    for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++) {
        const ml_tensor *t = ml_child_value(c, branch, i).tensor;
        if (!t->shaped)
            return ml_fail(c, ML_KERNEL_ERROR, "the branch computes no value for output %d", i);
        status = ml_set_output(c, i, &t->shape);
    }
    if (status == ML_OK) status = ml_settle(c);
    for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++) {
        ml_value_now value = ml_child_value(c, branch, i);
        if (ml_type_is_heap(value.tensor->type)) status = ml_set_bytes(c, i, value.bytes);
        if (status == ML_OK && value.bytes > 0)
            memcpy(ml_out(c, i), value.data, (size_t)value.bytes);
    }
    return status;
}

static ml_status run_if(const ml_call *c) {
    const if_blob *blob = c->blob;
    ml_child branch = ml_child_of(c, *(const uint8_t *)ml_in(c, CONDITION) ? 0 : 1);
    for (int32_t i = 1; i < c->n_inputs; i++) {
        void *data = ml_variable(c, i);
        if (blob->fixed) branch.data[branch.io->inputs[i - 1]] = data;
        else
            ml_child_set_input(c, &branch, i - 1, &ml_in_tensor(c, i)->shape, data,
                               ml_in_bytes(c, i));
    }
    return blob->fixed ? give_fixed(c, &branch) : give_open(c, &branch);
}

ML_KERNELS(if) = {
    ML_KERNEL_NO_PARAMS("if", sizeof(if_blob), ML_KERNEL_HAS_EFFECTS | ML_KERNEL_SETS_SHAPES,
                        prepare_if, run_if),
    ML_KERNELS_END,
};
