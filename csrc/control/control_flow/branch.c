/* branch.c -- IF, STABLEHLO_CASE: run one of several subgraphs, chosen by the node's first operand,
 * on the other operands. STABLEHLO_COMPOSITE: runs the subgraph that defines the composite, on all
 * operands.
 *
 * All branches are prepared for the operands' shapes and known values. Where they agree on the
 * shapes of all outputs, the node is like any other: a branch writes its outputs straight into the
 * node's. Where they do not, or where a shape depends on values, the outputs are open, and take the
 * shapes of the branch that ran. */
#include "control/control.h"

/* The number of operands before those that branches take: 0 if there is nothing to choose. */
#define BRANCH_FIELDS(X, S) X(S, i32, conditions, ML_BY_CHECK)
ML_PARAMS(branch_params, BRANCH_FIELDS)

typedef struct branch_blob {
    int32_t fixed; /* outputs have the same known shapes, whichever branch runs */
} branch_blob;

static int32_t conditions(const ml_call *c) {
    return ((const branch_params *)c->params)->conditions;
}

static ml_status check_branch(const ml_call *c, int32_t k) {
    const ml_child branch = ml_child_of(c, k);
    ml_status status = ml_child_check(c, &branch, conditions(c), c->n_outputs, "branch", k);
    if (status != ML_OK) return status;
    for (int32_t i = 0; i < c->n_outputs; i++)
        if (ml_child_output(c, &branch, i)->type != ml_output(c, i)->type)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "output %d of the branch %d has type %s, the node's has %s", i, k,
                           ml_type_name(ml_child_output(c, &branch, i)->type),
                           ml_type_name(ml_output(c, i)->type));
    return ML_OK;
}

static ml_status check_operands(const ml_call *c) {
    for (int32_t i = 0; i < conditions(c); i++)
        if (ml_elements(&ml_input(c, i)->shape) != 1)
            return ml_fail(c, ML_SHAPE_ERROR, "the condition has %lld elements, must have 1",
                           (long long)ml_elements(&ml_input(c, i)->shape));
    ml_status status = ML_OK;
    for (int32_t k = 0; k < ml_children_of(c) && status == ML_OK; k++) status = check_branch(c, k);
    return status;
}

/* True if the shapes of branch `k`'s outputs are known, and equal to those of the first branch. */
static bool agrees(const ml_call *c, int32_t k) {
    const ml_child first = ml_child_of(c, 0), branch = ml_child_of(c, k);
    for (int32_t i = 0; i < c->n_outputs; i++) {
        const ml_tensor *t = ml_child_output(c, &branch, i);
        if (!t->shaped || t->dynamic || ml_type_is_heap(t->type) ||
            !ml_same_shape(&t->shape, &ml_child_output(c, &first, i)->shape))
            return false;
    }
    return true;
}

static bool all_agree(const ml_call *c) {
    for (int32_t i = conditions(c); i < c->n_inputs; i++)
        if (ml_type_is_heap(ml_input(c, i)->type))
            return false; /* its bytes are not known while planning */
    for (int32_t k = 0; k < ml_children_of(c); k++)
        if (!agrees(c, k)) return false;
    return true;
}

static ml_status sweep_all(const ml_call *c, bool open) {
    ml_status status = ML_OK;
    for (int32_t k = 0; k < ml_children_of(c) && status == ML_OK; k++) {
        const ml_child branch = ml_child_of(c, k);
        status = ml_child_sweep(c, &branch, open, !open);
    }
    return status;
}

static ml_status prepare_branches(const ml_call *c, ml_wish *wish) {
    branch_blob *blob = c->blob;
    ml_status status = check_operands(c);
    if (status != ML_OK) return status;
    if (ml_reached(c)) return ml_open_all(wish); /* in a run: shapes follow from running */
    status = sweep_all(c, false);
    if (status != ML_OK) return status;
    blob->fixed = all_agree(c);
    if (!blob->fixed) {
        status = sweep_all(c, true);
        return status == ML_OK ? ml_open_all(wish) : status;
    }
    const ml_child first = ml_child_of(c, 0);
    for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++) {
        status = ml_set_output(c, i, &ml_child_output(c, &first, i)->shape);
        for (int32_t k = 0; k < ml_children_of(c); k++) {
            const ml_child branch = ml_child_of(c, k);
            ml_child_place_output(c, &branch, i);
        }
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

static ml_status run_branch(const ml_call *c, int32_t k) {
    const branch_blob *blob = c->blob;
    ml_child branch = ml_child_of(c, k);
    for (int32_t i = conditions(c); i < c->n_inputs; i++) {
        void *data = ml_variable(c, i);
        const int32_t input = i - conditions(c);
        if (blob->fixed) branch.data[branch.io->inputs[input]] = data;
        else
            ml_child_set_input(c, &branch, input, &ml_in_tensor(c, i)->shape, data,
                               ml_in_bytes(c, i));
    }
    return blob->fixed ? give_fixed(c, &branch) : give_open(c, &branch);
}

static ml_status run_if(const ml_call *c) {
    return run_branch(c, *(const uint8_t *)ml_in(c, 0) ? 0 : 1);
}

/* A number without a branch chooses the last one. */
static ml_status run_case(const ml_call *c) {
    const int32_t k = *(const int32_t *)ml_in(c, 0), last = ml_children_of(c) - 1;
    return run_branch(c, k < 0 || k > last ? last : k);
}

static ml_status run_composite(const ml_call *c) { return run_branch(c, 0); }

static ml_status check_if(const ml_call *c, void *params) {
    const int64_t yes = ml_option_of(c, "then_subgraph_index").integer;
    const int64_t no = ml_option_of(c, "else_subgraph_index").integer;
    ((branch_params *)params)->conditions = 1;
    if (yes >= 0 && no >= 0) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "branches are subgraphs %lld and %lld: both must be 0 or more", (long long)yes,
                   (long long)no);
}
static ml_status check_case(const ml_call *c, void *params) {
    const ml_node_option branches = ml_option_of(c, "branch_subgraph_indices");
    ((branch_params *)params)->conditions = 1;
    if (branches.count < 1)
        return ml_fail(c, ML_UNSUPPORTED, "there are no branches, there must be one or more");
    for (int64_t i = 0; i < branches.count; i++) {
        int32_t number;
        memcpy(&number, (const uint8_t *)branches.data + 4 * i, sizeof number);
        if (number < 0)
            return ml_fail(c, ML_UNSUPPORTED, "branch %lld is subgraph %d, must be 0 or more",
                           (long long)i, number);
    }
    return ML_OK;
}
/* Called if no kernel runs the composite by its name. */
static ml_status check_composite(const ml_call *c, void *params) {
    const int64_t meaning = ml_option_of(c, "decomposition_subgraph_index").integer;
    if (meaning >= 0) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED, "its decomposition is subgraph %lld, must be 0 or more",
                   (long long)meaning);
}

#define BRANCHES(operator, kernel_name, more_flags, operands, condition, check_fn, subgraphs, run) \
    {ML_OP(operator, 1, 1), .name = (kernel_name), .takes = (operands),                            \
     .flags = ML_KERNEL_HAS_EFFECTS | ML_KERNEL_SETS_SHAPES | ML_KERNEL_NO_REFERENCE | (more_flags), \
     .calls = (subgraphs), .check = (check_fn), ML_PARAMS_OF(branch_params),                    \
     .blob_bytes = (int32_t)sizeof(branch_blob), .prepare = prepare_branches,                   \
     ML_TYPED({condition "any...? -> any...?", NULL, NULL, run})}
ML_KERNELS(branch) = {
    BRANCHES(IF, "if", 0, "condition operands...? -> results...?", "b8 ", check_if,
             "then_subgraph_index else_subgraph_index", run_if),
    BRANCHES(STABLEHLO_CASE, "stablehlo_case", 0, "branch operands...? -> results...?", "s32 ",
             check_case, "branch_subgraph_indices", run_case),
    BRANCHES(STABLEHLO_COMPOSITE, "stablehlo_composite", ML_KERNEL_IS_COMPOSITE,
             "operands...? -> results...?", "", check_composite, "decomposition_subgraph_index",
             run_composite),
    ML_KERNELS_END,
};
