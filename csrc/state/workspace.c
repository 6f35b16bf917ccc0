/* workspace.c -- the memory that several interpreters use in turn. */
#include "state/workspace.h"

#include <stdlib.h>

ml_status ml_workspace_new(int32_t own_at_once, ml_workspace **out, ml_error *error) {
    ml_workspace *w = *out = calloc(1, sizeof *w);
    if (!w) return ml_error_refused(error, "a workspace");
    atomic_init(&w->holders, 1);
    w->own_at_once = own_at_once != 0;
    return ML_OK;
}

ml_workspace *ml_workspace_hold(ml_workspace *w) {
    if (w) atomic_fetch_add(&w->holders, 1);
    return w;
}

void ml_workspace_free(ml_workspace *w) {
    if (!w || atomic_fetch_sub(&w->holders, 1) > 1) return;
    ml_arena_release(&w->arena);
    free(w);
}

int32_t ml_workspace_has_ended(const ml_workspace *w) { return atomic_load(&w->ended); }

int64_t ml_workspace_bytes(const ml_workspace *w) { return atomic_load(&w->bytes); }

ml_status ml_workspace_refuse_pins(const ml_workspace *w, ml_error *error) {
    return ml_error_set(error, ML_VIEW_HELD,
                        "%d views of the workspace's memory are held: drop them first",
                        atomic_load(&w->pinned));
}

ml_status ml_workspace_trim(ml_workspace *w, int32_t ends, ml_error *error) {
    if (ml_take_turn(&w->turn, ML_TURN_CALL) != ML_OK)
        return ml_error_set(error, ML_SHARED, "an interpreter of the workspace is running");
    ml_status status = atomic_load(&w->pinned) > 0 ? ml_workspace_refuse_pins(w, error) : ML_OK;
    if (status == ML_OK) {
        atomic_store(&w->holder, NULL);
        ml_arena_release(&w->arena);
        atomic_store(&w->bytes, 0);
        if (ends) atomic_store(&w->ended, true);
    }
    ml_give_turn(&w->turn);
    return status;
}
