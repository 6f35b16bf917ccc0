/* inputs.c -- places graph inputs, and decides which of them runs may read in arrays of the
 * caller.
 *
 * An input that is kept to the end of a run shares its place with nothing, so it takes as many
 * bytes in memory of its own as in the arena's region; and none if every run is given an array.
 * The plan is the same for runs that read an array in place and for those that copy it. Nothing
 * writes to such an input: it is no output, it is listed once, and no tensor shares its place.
 *
 * Another thread may write to the caller's array during a run, so only kernels may read it there
 * whose accesses to memory do not depend on its values, however often these change. */
#include "plan/inputs.h"

#include "core/error.h"

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

static int32_t count_of(const int32_t *tensors, int32_t count, int32_t tensor) {
    int32_t found = 0;
    for (int32_t i = 0; i < count; i++) found += tensors[i] == tensor;
    return found;
}

static bool is_only_input(const ml_planner_graph *io, int32_t tensor) {
    return count_of(io->inputs, io->n_inputs, tensor) == 1 &&
           count_of(io->outputs, io->n_outputs, tensor) == 0;
}

static bool may_be_lent(const ml_subgraph *sub, int32_t tensor, const ml_tensor *row) {
    const int32_t slot = sub->slots[tensor];
    bool may = row->bytes >= ML_LEAST_LENT && is_data(row->type) && is_only_input(&sub->io, tensor);
    for (int32_t k = sub->reader_start[slot]; k < sub->reader_start[slot + 1] && may; k++)
        may = may_change(&sub->nodes[sub->readers[k]]);
    return may;
}

void ml_inputs_take_out(const ml_graph *g, ml_rows *rows, int32_t options) {
    const ml_subgraph *sub = ml_frame_subgraph(g, 0);
    const ml_planner_graph *io = &sub->io;
    const bool all = options & ML_SHARES_ARENA;
    if (!all && (!(options & ML_INPUTS_APART) || sub->planned_offline)) return;
    for (int32_t i = 0; i < io->n_inputs; i++) {
        const int32_t tensor = io->inputs[i], slot = tensor < 0 ? -1 : sub->slots[tensor];
        if (slot >= 0 && rows->tensors[slot].storage == ML_STORAGE_ARENA &&
            rows->tensors[slot].bytes > 0 && (all || is_only_input(io, tensor)))
            rows->tensors[slot].storage = ML_STORAGE_INPUT;
    }
}

ml_status ml_inputs_place(const ml_graph *g, ml_rows *rows, ml_error *error) {
    const ml_subgraph *sub = ml_frame_subgraph(g, 0);
    const ml_planner_graph *io = &sub->io;
    ml_frame_plan *frame = &rows->frames[0];
    int64_t end = 0;
    for (int lent = 0; lent < 2; lent++) {
        for (int32_t i = 0; i < sub->io.n_inputs; i++) {
            ml_tensor *row = ml_input_row(g, rows, i);
            const bool may = row && i < ML_MOST_LENT && may_be_lent(sub, io->inputs[i], row);
            if (!row || may != lent) continue;
            if (row->bytes > INT64_MAX / 2 - end)
                return ml_error_set(error, ML_ARENA_ERROR,
                                    "the inputs add up to more bytes than an int64 counts");
            row->offset = end;
            end += ml_round_up(row->bytes, ML_ALIGNMENT);
        }
        if (!lent) frame->copied_bytes = end;
    }
    frame->input_bytes = end;
    return ML_OK;
}
