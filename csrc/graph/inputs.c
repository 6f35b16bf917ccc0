/* inputs.c -- finds which inputs of a subgraph runs may read in arrays of the caller.
 *
 * Another thread may write to the caller's array during a run, so only kernels may read it there
 * whose accesses to memory do not depend on its values, however often these change. */
#include "graph/inputs.h"

#include <string.h>

/* Elements that are data, and no numbers of other elements. */
static bool is_data(int32_t type) {
    return type == ML_F32 || type == ML_F16 || type == ML_F64 || type == ML_U8 || type == ML_S8 ||
           type == ML_S16;
}

static bool may_change(const ml_node *node) {
    const int32_t trusts = ML_KERNEL_HAS_EFFECTS | ML_KERNEL_SETS_SHAPES | ML_KERNEL_REFUSES_VALUES;
    const ml_kernel *kernel = node->kernel;
    return node->typed && kernel->op && !kernel->custom && !(kernel->flags & trusts);
}

static bool is_lendable(const ml_subgraph *sub, int32_t tensor) {
    const int32_t slot = sub->slots[tensor];
    bool may = slot >= 0 && is_data(sub->tensors[tensor].type);
    for (int32_t k = may ? sub->reader_start[slot] : 0; may && k < sub->reader_start[slot + 1]; k++)
        may = may_change(&sub->nodes[sub->readers[k]]);
    return may;
}

void ml_inputs_judge(const ml_subgraph *sub, int32_t *uses, int32_t *listed) {
    const ml_planner_graph *io = &sub->io;
    memset(listed, 0, (size_t)io->n_tensors * sizeof *listed);
    for (int32_t i = 0; i < io->n_inputs; i++)
        if (io->inputs[i] >= 0) listed[io->inputs[i]]++;
    for (int32_t i = 0; i < io->n_outputs; i++)
        if (io->outputs[i] >= 0) listed[io->outputs[i]]++;
    for (int32_t i = 0; i < io->n_inputs; i++) {
        const int32_t tensor = io->inputs[i];
        uses[i] = tensor < 0 || listed[tensor] != 1              ? ML_INPUT_SHARED
                  : i < ML_MOST_LENT && is_lendable(sub, tensor) ? ML_INPUT_LENDABLE
                                                                 : ML_INPUT_ALONE;
    }
}
