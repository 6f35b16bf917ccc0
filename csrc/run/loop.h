/* loop.h -- the loop over nodes, its clock, and what stops it. */
#ifndef ML_RUN_LOOP_H
#define ML_RUN_LOOP_H

#include "os/os.h"
#include "state/state.h"

/* Runs a frame, whose pointers must be resolved. */
ml_status ml_run_frame(ml_state *state, ml_residence *residence, int32_t frame);
/* The function that a step calls when its node is prepared for the shapes it reads. */
ml_eval_fn ml_eval_of(const ml_node *node, const ml_node_plan *row);

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

#endif
