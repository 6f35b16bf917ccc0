/* watch.h -- stops runs, and measures how long nodes take. */
#ifndef ML_RUN_WATCH_H
#define ML_RUN_WATCH_H

#include "os/os.h"
#include "state/state.h"

/* The clock of a timed run. */
static inline int64_t ml_timed_now(const ml_timing *t) {
    return t->clock ? t->clock(t->owner) : ml_os_now();
}
/* Adds what a node took since `from`, what of it is `shared`, and one time more that it ran.
 * Returns when it ended, which is when the next one begins: a node costs one look at the clock. */
int64_t ml_note_time(ml_state *state, int32_t frame, const ml_call *call, int64_t from,
                     ml_work_time shared);
/* Notes an event of a timed run, if there is room. Workers may do so at the same time. */
void ml_note_event(ml_state *state, ml_event event);

/* Ticks between two readings of the clock. A run begins with this many. */
enum { ML_TICKS_PER_LOOK = 64 };
ml_status ml_look_at_clock(ml_state *state);
/* Lets Python handle signals, about every 50 ms. Counts down `ticks`, and reads the clock when none
 * are left. */
static inline ml_status ml_check_interrupt(ml_state *s, int32_t ticks) {
    if (ml_is_cancelled(&s->interpreter->cancel)) return ml_cancelled_error(&s->error);
    return (s->ticks -= ticks) < 0 ? ml_look_at_clock(s) : ML_OK;
}
/* The same, between blocks of a node; it reads the clock each time. `owner` is the state. */
ml_status ml_poll_state(void *owner);

#endif
