/* inputs.c -- memory of graph inputs (plan/inputs.c): the state's own, or an array of the
 * caller's for one run.
 *
 * The state's own memory is apart from the arena. Inputs that may be lent get it when something
 * first needs it (a value that is set or read, a view, a run without arrays), and from then on
 * with every plan; a program that only passes arrays to runs never takes it.
 *
 * A lent input has its value in an array of the caller's, which no pointer leads to after the
 * run. It stays lent until it gets memory: Python, which knows the array, then copies the value
 * there. */
#include "plan/inputs.h"

#include "state/state.h"

/* The position among the inputs of one that may be lent; -1 for other tensors. */
static int32_t position_of(const ml_state *s, int32_t tensor) {
    const ml_planner_graph *io = &ml_frame_subgraph(s->graph, 0)->io;
    const ml_rows *rows = s->now->rows;
    for (int32_t i = 0; i < io->n_inputs && i < ML_MOST_LENT; i++) {
        const ml_tensor *row = io->inputs[i] == tensor ? ml_input_row(s->graph, rows, i) : NULL;
        if (row && ml_input_may_be_lent(rows, row)) return i;
    }
    return -1;
}

ml_status ml_inputs_acquire(ml_state *s, ml_error *error) {
    ml_residence *r = s->now;
    const bool had_inputs = s->has_inputs;
    s->has_inputs = true;
    ml_status status = ml_inputs_commit(s, r, error);
    if (status != ML_OK) {
        s->has_inputs = had_inputs;
        return status;
    }
    const ml_frame_plan *frame = &r->rows->frames[0];
    if (!had_inputs) /* pages may have been another arena's */
        memset(s->inputs.base + frame->copied_bytes, 0,
               (size_t)(frame->input_bytes - frame->copied_bytes));
    ml_inputs_follow(s);
    return ML_OK;
}

/* Notes the positions of the inputs that have arrays. */
static ml_status note_arrays(const ml_state *s, const ml_binding *rows, int32_t count,
                             uint64_t *given, ml_error *error) {
    for (int32_t i = 0; i < count; i++) {
        const int32_t at = position_of(s, rows[i].tensor);
        const ml_tensor *row = at < 0 ? NULL : ml_input_row(s->graph, s->now->rows, at);
        if (!row || !rows[i].data || rows[i].bytes != row->bytes)
            return ml_error_set(error, ML_NOT_READY,
                                "tensor %d does not read an array of %lld bytes", rows[i].tensor,
                                (long long)rows[i].bytes);
        *given |= UINT64_C(1) << at;
    }
    return ML_OK;
}

static bool are_all(const ml_state *s, uint64_t given) {
    const ml_planner_graph *io = &ml_frame_subgraph(s->graph, 0)->io;
    bool all = true;
    for (int32_t i = 0; i < io->n_inputs; i++)
        if (position_of(s, io->inputs[i]) >= 0) all &= given >> i & 1;
    return all;
}

/* While a view is held the arrays are copied, because it may be a view of an input. */
ml_status ml_inputs_lend(ml_state *s, const ml_binding *rows, int32_t count, ml_error *error) {
    uint64_t given = 0;
    ml_status status = note_arrays(s, rows, count, &given, error);
    if (status == ML_OK && s->lent & ~given)
        status =
            ml_error_set(error, ML_LENT, "the value of an input is in an array of the caller's");
    const bool copies = s->pinned > 0 && count > 0;
    if (status == ML_OK && (copies || !are_all(s, given))) status = ml_inputs_acquire(s, error);
    if (status != ML_OK) return status;
    s->lent = copies ? 0 : given;
    if (copies) ml_resolve_inputs(s, s->now);
    for (int32_t i = 0; i < count; i++) {
        void **at = &ml_now_data(s->now, 0)[rows[i].tensor];
        if (copies) memcpy(*at, rows[i].data, (size_t)rows[i].bytes);
        else *at = (void *)(uintptr_t)rows[i].data;
    }
    return ML_OK;
}

ml_status ml_state_own_input(ml_state *s, int32_t tensor, ml_error *error) {
    ml_status status = ml_enter(s->interpreter);
    if (status != ML_OK) return status;
    const int32_t at = s->now && !s->released ? position_of(s, tensor) : -1;
    const uint64_t lent = s->lent;
    if (at < 0)
        status =
            ml_error_set(error, ML_NOT_READY, "tensor %d is no input that may be lent", tensor);
    if (at >= 0) s->lent &= ~(UINT64_C(1) << at);
    if (at >= 0) status = ml_inputs_acquire(s, error);
    if (status != ML_OK) s->lent = lent;
    ml_leave(s->interpreter);
    return status;
}
