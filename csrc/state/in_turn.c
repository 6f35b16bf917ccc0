/* in_turn.c -- lets states of several interpreters use the arena of a workspace, one after the
 * other.
 *
 * The arena has the values of one state, its holder: the one that ran last. Inputs, variables and
 * bound buffers of a state lie elsewhere, so what a state loses to the next holder are results of
 * its runs, and a run needs nothing from before. Pointers of all states refer to the same
 * addresses; after a state has made the arena grow to another place, the others resolve theirs
 * when they run again.
 *
 * Nobody writes to a state of another interpreter: whoever is not the holder finds that out when
 * it compares. The holder is only ever compared, because it may have been freed.
 *
 * Lock: `turn`, as in an interpreter, taken after the interpreter's. A run and a change of the
 * arena have it as a call, copies of values in the arena as a copy. An interpreter that finds it
 * taken, or is called by another thread than the first one, leaves the workspace for good if the
 * caller chose so, and takes an arena of its own. */
#include "state/in_turn.h"

/* The address of a variable that each thread has one of. */
static uintptr_t this_thread(void) {
    static _Thread_local char here;
    return (uintptr_t)&here;
}

/* True if the workspace is shared by runs on the present thread. */
static bool is_ours(ml_workspace *w) {
    uintptr_t first = 0;
    if (!w->own_at_once || atomic_compare_exchange_strong(&w->thread, &first, this_thread()))
        return true;
    return first == this_thread();
}

/* From now on the state has an arena of its own. */
static ml_status leave_for_good(ml_state *s, ml_error *error) {
    if (s->pinned > 0) return ml_workspace_refuse_pins(s->interpreter->workspace, error);
    ml_status status = ml_arena_commit(&s->own, s->now->rows->frames[0].region_bytes, 0, error);
    if (status != ML_OK) return status;
    ml_workspace_forget(s);
    s->arena = &s->own;
    ml_account_give(&s->interpreter->account, s->charged);
    s->charged = 0;
    return ML_OK;
}

/* Makes the arena large enough, and the state its holder. */
static ml_status take_over(ml_state *s, ml_error *error) {
    ml_workspace *w = s->interpreter->workspace;
    if (atomic_load(&w->holder) != s && atomic_load(&w->pinned) > 0)
        return ml_workspace_refuse_pins(w, error);
    ml_status status = ml_region_commit(s, s->now->rows->frames[0].region_bytes, 0, error);
    if (status == ML_OK) atomic_store(&w->holder, s);
    return status;
}

/* Lets the state's pointers refer to the arena. */
static void follow(ml_state *s) {
    s->shared_base = s->arena->base;
    if (ml_stands(s, s->now)) return;
    ml_resolve(s, s->now, NULL);
    ml_changed(s);
}

ml_status ml_workspace_enter(ml_state *s, ml_error *error) {
    ml_workspace *w = s->interpreter->workspace;
    if (!ml_shares_arena(s)) return ML_OK;
    const bool has_turn = is_ours(w) && ml_take_turn(&w->turn, ML_TURN_CALL) == ML_OK;
    ml_status status = ML_OK;
    if (has_turn && atomic_load(&w->ended)) {
        status =
            ml_error_set(error, ML_SHARED,
                         "the workspace was closed: its interpreters have no memory to run in");
    } else if (has_turn) {
        status = take_over(s, error);
    } else if (!w->own_at_once) {
        status =
            ml_error_set(error, ML_SHARED,
                         "the workspace is in use by a call of another interpreter: one runs at "
                         "a time, or Workspace(at_once='own')");
    }
    const bool leaves = w->own_at_once && (!has_turn || status == ML_VIEW_HELD);
    if (has_turn && (status != ML_OK || leaves)) ml_give_turn(&w->turn);
    if (leaves) {
        *error = ML_NO_ERROR;
        status = leave_for_good(s, error);
    }
    if (status == ML_OK) follow(s);
    return status;
}

void ml_workspace_leave(ml_state *s) {
    ml_workspace *w = s->interpreter->workspace;
    if (!ml_shares_arena(s)) return;
    atomic_store(&w->bytes, w->arena.capacity);
    ml_give_turn(&w->turn);
}

bool ml_workspace_enter_copy(ml_state *s) {
    ml_workspace *w = s->interpreter->workspace;
    if (!ml_shares_arena(s)) return true;
    if (ml_take_turn(&w->turn, ML_TURN_COPY) != ML_OK) return false;
    if (atomic_load(&w->holder) == s) return true;
    ml_give_turn(&w->turn);
    return false;
}

void ml_workspace_forget(ml_state *s) {
    ml_workspace *w = s->interpreter->workspace;
    const ml_state *mine = s;
    if (w) atomic_compare_exchange_strong(&w->holder, &mine, NULL);
}
