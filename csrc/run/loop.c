/* loop.c -- the one loop that runs nodes, and what stops it.
 *
 * A step has everything that its node needs: the loop decides nothing, looks nothing up and
 * resolves nothing. Nodes that need something special (numpy, weights to be packed first, unsettled
 * shapes) have another function in their step.
 *
 * A run can be stopped before each step, before each iteration of a loop, and before each block of
 * parallel work. The cancel flag is read each time, which costs one load. Reading the clock costs
 * more, so that is done after a certain amount of work, counted in ticks, and before every block,
 * since a block may take milliseconds. When 50 ms have passed, Python is asked to handle
 * signals. */
#include "run/loop.h"

#include "os/os.h"
#include "run/debug.h"

static const int64_t poll_every_ns = 50 * 1000 * 1000;

/* Interruption --------------------------------------------------------------------------------- */

/* The first reading in a run starts the 50 ms, so a shorter run never calls Python. A run too small
 * for one reading never reads the clock. */
static ml_status look_at_clock(ml_state *s) {
    s->ticks = ML_TICKS_PER_LOOK;
    int64_t now = ml_os_recently();
    if (s->poll_at == 0) s->poll_at = now + poll_every_ns;
    if (now < s->poll_at || !s->hooks.poll) return ML_OK;
    s->poll_at = now + poll_every_ns;
    return s->hooks.poll(s->hooks.owner)
               ? ml_error_set(&s->error, ML_PYTHON_ERROR, "a signal handler raised")
               : ML_OK;
}

ml_status ml_check_interrupt(ml_state *s, int32_t ticks) {
    if (ml_is_cancelled(&s->interpreter->cancel)) return ml_cancelled_error(&s->error);
    return (s->ticks -= ticks) < 0 ? look_at_clock(s) : ML_OK;
}

ml_status ml_poll_state(void *owner) { return ml_check_interrupt(owner, ML_TICKS_PER_LOOK + 1); }

/* The loop ------------------------------------------------------------------------------------- */

void ml_note_event(ml_state *s, ml_event event) {
    const int64_t at = atomic_fetch_add_explicit(&s->n_events, 1, memory_order_relaxed);
    if (at < s->timing->room) s->timing->events[at] = event;
}

/* Adds what a node took since `from`, what of it is `shared`, and one time more that it ran.
 * Returns when it ended, which is when the next one begins: a node costs one look at the clock. */
static int64_t note_time(ml_state *s, int32_t frame, const ml_step *step, int64_t from,
                         ml_work_time shared) {
    const int64_t place = s->graph->frames[frame].node_base + step->call.node;
    ml_node_time *time = &s->timing->times[place];
    const int64_t now = ml_timed_now(s->timing);
    time->ns += now - from;
    time->runs++;
    time->shared_ns += s->shared.ns - shared.ns;
    time->blocks += s->shared.blocks - shared.blocks;
    if (s->timing->events) ml_note_event(s, (ml_event){from, now, (int32_t)place, -1});
    return now;
}

/* Runs of subgraphs get here from within an eval of the calling frame. Steps may change during the
 * loop: later ones by ml_mark_readers, the current one by ml_run_unsettled. Their number does not.
 * Compiled twice, so that runs that are not timed do not pay for the clock. */
static inline ml_status run_steps(ml_state *s, ml_residence *r, int32_t frame, bool timed) {
    const ml_frame_now *now = &r->frames[frame];
    const ml_step *step = r->steps + now->first_step, *end = step + now->n_steps;
    int64_t from = timed ? ml_timed_now(s->timing) : 0;
    if (r->learnt) ml_late_begin(&r->learnt->late[frame]);
    for (; step < end; step++) {
#ifdef ML_DEBUG
        ml_guards guards;
        ml_debug_guard(r, frame, step, &guards);
#endif
        ml_status status = ml_check_interrupt(s, step->call.ticks);
        const ml_work_time shared = timed ? s->shared : (ml_work_time){0, 0};
        if (status == ML_OK) status = step->eval(&step->call);
        if (timed) from = note_time(s, frame, step, from, shared);
#ifdef ML_DEBUG
        if (status == ML_OK) status = ml_debug_check(r, frame, step, &guards, &s->error);
#endif
        if (status != ML_OK) return ml_blame(&step->call, status);
#ifdef ML_DEBUG
        ml_debug_poison(r, frame, step->call.node);
#endif
    }
    return ML_OK;
}

ml_status ml_run_frame(ml_state *s, ml_residence *r, int32_t frame) {
    return s->timing ? run_steps(s, r, frame, true) : run_steps(s, r, frame, false);
}

/* Packs in each run, because computed weights may differ. */
static ml_status run_packing(const ml_call *call) {
    const struct ml_frame_engine *fe = call->env->engine;
    const ml_graph *g = fe->engine->graph;
    const ml_node *node = &g->subgraphs[fe->subgraph].nodes[call->node];
    void *to =
        ml_scratch(call, ml_computed_weights(g, fe->engine->rows, fe->frame, (int32_t)call->node));
    if (node->typed->pack(call, to) < 0) return (ml_status)call->env->error->status;
    ml_call packed = *call;
    packed.packed = to;
    return node->typed->eval(&packed);
}

/* Views, fused nodes and nodes without elements have a step only if runs may change shapes. There
 * is nothing to compute. */
static ml_status run_nothing(const ml_call *call) { return ML_OK; }

/* Python keeps the exception, per thread; this text is used only if there is none. */
static ml_status run_python(const ml_call *call) {
    ml_state *s = call->env->engine->engine->state;
    ml_status status = (ml_status)s->hooks.eval(s->hooks.owner, call);
    if (status != ML_OK && s->error.status == ML_OK)
        ml_error_set(&s->error, status, "its Python function raised");
    return status;
}

/* If C has no eval for these types, the numpy reference runs. */
ml_eval_fn ml_eval_of(const ml_node *node, const ml_node_plan *row) {
    if (row->status >= ML_NODE_IS_VIEW) return run_nothing;
    if (!node->typed) return run_python;
    return row->packs_in_run ? run_packing : node->typed->eval;
}
