/* run.c -- runs the plan in use: everything before the first node and after the last. */
#include <stdlib.h>

#include "os/os.h"
#include "run/dynamic.h"
#include "run/loop.h"
#include "run/watch.h"
#include "run/run_core.h"
#include "run/sharing.h"
#include "state/in_turn.h"

static const ml_runner runner = {&ml_run_core, ml_eval_of, ml_run_unsettled};

ml_status ml_state_new(ml_family *family, ml_interpreter *interpreter, const char *strategy,
                       int32_t options, int64_t cache_bytes, int64_t most_arena,
                       const ml_hooks *hooks, ml_state **state, ml_error *error) {
    const ml_state_options all = {strategy, options, cache_bytes, most_arena, hooks, &runner};
    return ml_state_make(family, interpreter, &all, state, error);
}

/* Copies the bytes of all graph inputs in the arena, one after the other, out to `saved` or back;
 * returns their sum. Between set_tensor and a run only inputs have values to keep; everything else
 * in the arena is computed again. */
static int64_t move_inputs(const ml_state *s, const ml_residence *r, uint8_t *saved, bool out) {
    const ml_subgraph *sub = ml_frame_subgraph(s->graph, 0);
    int64_t at = 0;
    for (int32_t i = 0; i < sub->io.n_inputs; i++) {
        int32_t t = sub->io.inputs[i];
        const ml_tensor *row = ml_row_of(s->graph, r->rows, 0, t);
        if (row->storage != ML_STORAGE_ARENA || row->bytes == 0) continue;
        void *data = ml_now_data(r, 0)[t];
        if (!data) continue;
        if (saved && out) memcpy(saved + at, data, (size_t)row->bytes);
        else if (saved) memcpy(data, saved + at, (size_t)row->bytes);
        at += row->bytes;
    }
    return at;
}

/* Inputs in the arena that nobody has set are zeros. Everything else is written before it is read:
 * there is nothing to clear. */
static void clear_inputs(const ml_state *s) {
    if (s->arena->unclear > 0 && move_inputs(s, s->now, NULL, true) > 0) ml_arena_clear(s->arena);
}

/* If a run has left the arena well above its bound, or was refused memory, places everything again
 * with what was learnt, and keeps inputs and variables. If that fails, the old places stay, and the
 * run goes on. Done at the start of a run, not at the end of the run that grew, whose outputs have
 * yet to be read. */
static void place_anew(ml_state *s, ml_residence *r) {
    const ml_frame_plan *row = &r->rows->frames[0];
    bool spilled = false;
    for (int32_t f = 1; f < s->graph->n_frames; f++) spilled |= r->frames[f].spilled;
    const bool near = row->region_bytes <= row->lower_bound + row->lower_bound / 4;
    const bool refused = r->learnt->refused;
    r->learnt->refused = false;
    if (s->pinned || (!spilled && near && !refused)) return;
    uint8_t *inputs = malloc((size_t)move_inputs(s, r, NULL, true) + 1);
    if (!inputs) return;
    move_inputs(s, r, inputs, true);
    if (ml_residence_renew(s, r)) {
        ml_enter_residence(s, r);
        ml_resolve(s, r, NULL);
        s->counters.bytes_copied += 2 * move_inputs(s, r, inputs, false);
        s->counters.replans++;
        ml_changed(s);
    }
    free(inputs);
}

/* Runs all nodes, on the caller's thread or on all, whichever is faster. */
static ml_status run_on_threads(ml_state *s, ml_residence *r) {
    ml_pool *pool = s->interpreter->pool;
    if (!pool || ml_pool_threads(pool) == 1) return ml_run_frame(s, r, 0);
    const bool measured = ml_sharing_is_measured(&r->sharing);
    s->alone = ml_sharing_alone(&r->sharing);
    s->counters.runs_alone += s->alone;
    const int64_t from = measured ? ml_os_now() : 0;
    const ml_status status = ml_run_frame(s, r, 0);
    if (status == ML_OK) ml_sharing_note(&r->sharing, measured ? ml_os_now() - from : 0);
    s->alone = false;
    return status;
}

/* The same, and notes when it began and ended if the run is timed. */
static ml_status run_nodes(ml_state *s, ml_residence *r) {
    ml_timing *timing = s->timing;
    if (!timing) return run_on_threads(s, r);
    atomic_store_explicit(&s->n_events, 0, memory_order_relaxed);
    timing->start = ml_timed_now(timing);
    const ml_status status = run_on_threads(s, r);
    timing->end = ml_timed_now(timing);
    timing->n_events = atomic_load_explicit(&s->n_events, memory_order_relaxed);
    return status;
}

/* The arguments of a run. */
typedef struct run_options {
    ml_timing *timing;
    const ml_cancel *cancel;
    const ml_binding *rows; /* arrays of the caller that inputs are read in */
    int32_t n_rows;
} run_options;

/* All that is done around the nodes of a run. */
static ml_status run_ready(ml_state *s, const run_options *o) {
    ml_residence *r = s->now;
    if (--s->trim.left < 0) ml_next_trim_window(s);
    ml_cancel_flags *flags = &s->interpreter->cancel;
    atomic_store_explicit(&flags->own, 0, memory_order_relaxed);
    flags->token = o->cancel;
    s->poll_at = 0;
    s->ticks = ML_TICKS_PER_LOOK;
    r->ran = true;
    ml_pool *pool = s->interpreter->pool;
    ml_watch watch = {flags, ml_poll_state, s};
    if (pool) ml_pool_enter_run(pool, &watch);
    bool fresh = s->fresh;
    int64_t faults = fresh ? ml_os_page_faults() : 0;
    ml_status status =
        ml_is_cancelled(flags)
            ? ml_error_set(&s->error, ML_CANCELLED, "the run was cancelled before its first node")
            : run_nodes(s, r);
    if (fresh) {
        s->counters.page_faults += ml_os_page_faults() - faults;
        s->fresh = false;
    }
    if (status == ML_ARENA_ERROR && r->learnt) {
        ml_needs_forget(s);
        r->learnt->refused = true;
    }
    if (pool) ml_pool_leave_run(pool);
    flags->token = NULL;
    s->arena->unclear = 0;
    if (s->run_changed) ml_run_changed(s);
    s->run_changed = false;
    s->counters.invokes++;
    return status;
}

/* Sees to it that everything lies where it is read and written in this run: arrays of the caller
 * last, because all else may set pointers. */
static ml_status get_ready(ml_state *s, const run_options *o) {
    ml_residence *r = s->now;
    clear_inputs(s);
    if (r->learnt && (r->learnt->grew || r->learnt->refused)) place_anew(s, r);
    if (o->n_rows == 0 && !s->lacks_inputs) return ML_OK;
    return ml_inputs_lend(s, o->rows, o->n_rows, &s->error);
}

/* Calls in steps point at the state's error, which is empty before and after each run. */
static uintptr_t run(ml_state *s, const run_options *o) {
    ml_status status = ml_enter(s->interpreter);
    if (status != ML_OK) return ml_busy_error();
    s->timing = o->timing;
    if (!ml_is_ready(s))
        status = ml_error_set(&s->error, ML_NOT_READY,
                              "Invoke called on model that is not ready: allocate_tensors() has to "
                              "come first");
    const bool shares = s->interpreter->workspace && status == ML_OK;
    if (shares) status = ml_workspace_enter(s, &s->error);
    const bool entered = shares && status == ML_OK;
    if (status == ML_OK) status = get_ready(s, o);
    if (status == ML_OK) status = run_ready(s, o);
    if (entered) ml_workspace_leave(s);
    if (o->n_rows > 0 && s->now) ml_resolve_inputs(s, s->now);
    uintptr_t failed = status == ML_OK ? 0 : ml_state_give_error(s, status);
    ml_leave(s->interpreter);
    return failed;
}

uintptr_t ml_state_run(ml_state *s) { return run(s, &(run_options){.timing = NULL}); }
uintptr_t ml_state_run_until(ml_state *s, const ml_cancel *cancel) {
    return run(s, &(run_options){.cancel = cancel});
}
uintptr_t ml_state_run_on(ml_state *s, const ml_binding *rows, int32_t count,
                          const ml_cancel *cancel) {
    return run(s, &(run_options){.cancel = cancel, .rows = rows, .n_rows = count});
}
uintptr_t ml_state_run_timed(ml_state *s, ml_timing *timing) {
    return run(s, &(run_options){.timing = timing});
}
