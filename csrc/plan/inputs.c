/* inputs.c -- places graph inputs, and decides which of them runs may read in arrays of the
 * caller.
 *
 * An input that is kept to the end of a run shares its place with nothing, so it takes as many
 * bytes in memory of its own as in the arena's region; and none if every run is given an array.
 * The plan is the same for runs that read an array in place and for those that copy it. Nothing
 * writes to such an input: it is no output, it is listed once, and no tensor shares its place.
 * The graph says which inputs are like that, for it is the same for all shapes. */
#include "plan/inputs.h"

#include "core/error.h"

void ml_inputs_take_out(const ml_graph *g, ml_rows *rows, int32_t options) {
    const ml_subgraph *sub = ml_frame_subgraph(g, 0);
    const ml_planner_graph *io = &sub->io;
    const bool all = options & ML_SHARES_ARENA;
    if (!all && (!(options & ML_INPUTS_APART) || sub->planned_offline)) return;
    for (int32_t i = 0; i < io->n_inputs; i++) {
        const int32_t tensor = io->inputs[i], slot = tensor < 0 ? -1 : sub->slots[tensor];
        if (slot >= 0 && rows->tensors[slot].storage == ML_STORAGE_ARENA &&
            rows->tensors[slot].bytes > 0 && (all || sub->input_uses[i] != ML_INPUT_SHARED))
            rows->tensors[slot].storage = ML_STORAGE_INPUT;
    }
}

ml_status ml_inputs_place(const ml_graph *g, ml_rows *rows, ml_error *error) {
    const ml_subgraph *sub = ml_frame_subgraph(g, 0);
    ml_frame_plan *frame = &rows->frames[0];
    int64_t end = 0;
    for (int lent = 0; lent < 2; lent++) {
        int64_t gap = lent ? ML_INPUT_GAP : 0;
        for (int32_t i = 0; i < sub->io.n_inputs; i++) {
            ml_tensor *row = ml_input_row(g, rows, i);
            const bool may =
                row && row->bytes >= ML_LEAST_LENT && sub->input_uses[i] == ML_INPUT_LENDABLE;
            if (!row || may != lent) continue;
            if (row->bytes > INT64_MAX / 2 - end - gap)
                return ml_error_set(error, ML_ARENA_ERROR,
                                    "the inputs add up to more bytes than an int64 counts");
            row->offset = end + gap;
            end += gap + ml_round_up(row->bytes, ML_ALIGNMENT);
            gap = 0;
        }
        if (!lent) frame->copied_bytes = end;
    }
    frame->input_bytes = end;
    return ML_OK;
}
