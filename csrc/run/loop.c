/* loop.c -- the one loop that runs nodes.
 *
 * A step has everything that its node needs: the loop decides nothing, looks nothing up and
 * resolves nothing. Nodes that need something special (numpy, weights to be packed first, unsettled
 * shapes, patches) have another function in their step. */
#include "run/loop.h"

#include "run/debug.h"
#include "run/patches.h"
#include "run/watch.h"

/* The loop ------------------------------------------------------------------------------------- */

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
        if (timed)
            from = step->eval == ml_run_patches /* it notes each node of its group */
                       ? ml_timed_now(s->timing)
                       : ml_note_time(s, frame, &step->call, from, shared);
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
    if (row->status == ML_NODE_RUNS_PATCHES) return ml_run_patches;
    if (row->status >= ML_NODE_IS_VIEW) return run_nothing;
    if (!node->typed) return run_python;
    return row->packs_in_run ? run_packing : node->typed->eval;
}
