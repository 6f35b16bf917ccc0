/* run.h -- running: the loop over nodes, and how shapes and places change during a run. */
#ifndef ML_RUN_RUN_H
#define ML_RUN_RUN_H

#include "os/os.h"
#include "state/state.h"

/* run_core.c: the core's functions, for calls of kernels in a run. */
extern const ml_core ml_run_core;
/* Moves output `i` to `data`, from now on. */
static inline void ml_point_output(const ml_call *c, int32_t i, void *data) {
    c->env->engine->data[c->inputs[c->n_inputs + i]] = data;
}

/* loop.c: runs a frame, whose pointers must be resolved. */
ml_status ml_run_frame(ml_state *state, ml_residence *residence, int32_t frame);
/* The clock of a timed run. */
static inline int64_t ml_timed_now(const ml_timing *t) {
    return t->clock ? t->clock(t->owner) : ml_os_now();
}
/* Notes an event of a timed run, if there is room. Workers may do so at the same time. */
void ml_note_event(ml_state *state, ml_event event);
/* Ticks between two readings of the clock. A run begins with this many. */
enum { ML_TICKS_PER_LOOK = 64 };
/* Lets Python handle signals, about every 50 ms. Counts down `ticks`, and reads the clock when none
 * are left. */
ml_status ml_check_interrupt(ml_state *state, int32_t ticks);
/* The same, between blocks of a node; it reads the clock each time. `owner` is the state. */
ml_status ml_poll_state(void *owner);
/* The function that a step calls when its node is prepared for the shapes it reads. */
ml_eval_fn ml_eval_of(const ml_node *node, const ml_node_plan *row);

/* dynamic.c: the function of all other steps: prepares the node for the shapes it reads now, gives
 * outputs their places, and computes. */
ml_status ml_run_unsettled(const ml_call *call);
/* Makes room for outputs whose shapes were set by eval. */
ml_status ml_settle_outputs(const ml_call *call);
/* Marks the readers of a slot as stale, because its shape has changed. The frame runs `sub` and
 * lies at `place`. */
void ml_mark_readers(ml_residence *residence, const ml_subgraph *sub, const ml_frame *place,
                     int32_t slot);

/* grow.c: gives one record of a frame a new place, where it overlaps nothing that is live at the
 * same time. `id` is a tensor, or n_tensors plus a node's position for its scratch; *offset is its
 * place, before and after. */
ml_status ml_grow(ml_state *state, ml_residence *residence, int32_t frame, int32_t id,
                  int64_t bytes, int64_t *offset);

#endif
