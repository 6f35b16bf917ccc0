/* call_once.c -- CALL_ONCE: runs its subgraph the first time that an interpreter reaches the node,
 * in whichever signature, and again after resources are reset. */
#include "control/control.h"

static ml_status prepare_call_once(const ml_call *c, ml_wish *wish) {
    ml_child child = ml_child_of(c, 0);
    if (child.io->n_inputs > 0 || child.io->n_outputs > 0)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "the subgraph has %d inputs and %d outputs, must have none",
                       child.io->n_inputs, child.io->n_outputs);
    return ml_reached(c) ? ML_OK : ml_child_sweep(c, &child, false, false);
}

static ml_status run_call_once(const ml_call *c) {
    const struct ml_frame_engine *fe = c->env->engine;
    bool *called = &fe->engine->state->interpreter->called_once[fe->nodes[c->node].subgraphs[0]];
    if (*called) return ML_OK;
    ml_child child = ml_child_of(c, 0);
    ml_status status = ml_child_run(c, &child);
    *called = status == ML_OK;
    return status;
}

static ml_status check_call_once(const ml_call *c, void *params) {
    const int64_t called = ml_option_of(c, "init_subgraph_index").integer;
    if (called >= 0) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED, "calls subgraph %lld, must be 0 or more", (long long)called);
}

ML_KERNELS(call_once) = {
    {ML_OP(CALL_ONCE, 1, 1), .name = "call_once", .takes = "->",
     .flags = ML_KERNEL_HAS_EFFECTS | ML_KERNEL_NO_REFERENCE, .calls = "init_subgraph_index",
     .check = check_call_once, .prepare = prepare_call_once,
     ML_TYPED({"->", NULL, NULL, run_call_once})},
    ML_KERNELS_END,
};
