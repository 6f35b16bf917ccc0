/* watch.c -- stops runs, and measures how long nodes take.
 *
 * A run can be stopped before each step, before each iteration of a loop, and before each block of
 * parallel work. The cancel flag is read each time, which costs one load. Reading the clock costs
 * more, so that is done after a certain amount of work, counted in ticks, and before every block,
 * since a block may take milliseconds. When 50 ms have passed, Python is asked to handle
 * signals. */
#include "run/watch.h"

static const int64_t poll_every_ns = 50 * 1000 * 1000;

/* The first reading in a run starts the 50 ms, so a shorter run never calls Python. A run too small
 * for one reading never reads the clock. */
ml_status ml_look_at_clock(ml_state *s) {
    s->ticks = ML_TICKS_PER_LOOK;
    int64_t now = ml_os_recently();
    if (s->poll_at == 0) s->poll_at = now + poll_every_ns;
    if (now < s->poll_at || !s->hooks.poll) return ML_OK;
    s->poll_at = now + poll_every_ns;
    return s->hooks.poll(s->hooks.owner)
               ? ml_error_set(&s->error, ML_PYTHON_ERROR, "a signal handler raised")
               : ML_OK;
}

ml_status ml_poll_state(void *owner) { return ml_check_interrupt(owner, ML_TICKS_PER_LOOK + 1); }

/* Times ---------------------------------------------------------------------------------------- */

void ml_note_event(ml_state *s, ml_event event) {
    const int64_t at = atomic_fetch_add_explicit(&s->n_events, 1, memory_order_relaxed);
    if (at < s->timing->room) s->timing->events[at] = event;
}

int64_t ml_note_time(ml_state *s, int32_t frame, const ml_call *call, int64_t from,
                     ml_work_time shared) {
    const int64_t place = s->graph->frames[frame].node_base + call->node;
    ml_node_time *time = &s->timing->times[place];
    const int64_t now = ml_timed_now(s->timing);
    time->ns += now - from;
    time->runs++;
    time->shared_ns += s->shared.ns - shared.ns;
    time->blocks += s->shared.blocks - shared.blocks;
    if (s->timing->events) ml_note_event(s, (ml_event){from, now, (int32_t)place, -1});
    return now;
}
