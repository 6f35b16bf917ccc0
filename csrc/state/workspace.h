/* workspace.h -- ml_workspace: the memory that several interpreters use in turn. */
#ifndef ML_STATE_WORKSPACE_H
#define ML_STATE_WORKSPACE_H

#include "state/turn.h"

struct ml_workspace {
    atomic_int holders; /* the caller and the interpreters */
    atomic_int turn; /* as of an interpreter */
    atomic_int pinned; /* live views of the arena */
    _Atomic(const ml_state *) holder; /* whose values the arena has; only compared */
    atomic_uintptr_t thread; /* with own_at_once: the thread that shares it; 0: none has yet */
    bool own_at_once; /* who would run at once with another takes an arena of its own */
    atomic_bool ended;
    atomic_int_least64_t bytes; /* of the arena */
    ml_arena arena;
};

/* The error of a call that would lose values which views show. */
ml_status ml_workspace_refuse_pins(const ml_workspace *workspace, ml_error *error);
/* Takes NULL too, which it returns. */
ml_workspace *ml_workspace_hold(ml_workspace *workspace);
static inline void ml_workspace_pin(ml_workspace *w, int count) {
    atomic_fetch_add(&w->pinned, count);
}

#endif
