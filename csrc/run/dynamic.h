/* dynamic.h -- changes shapes and places during a run. */
#ifndef ML_RUN_DYNAMIC_H
#define ML_RUN_DYNAMIC_H

#include "state/state.h"

/* The function of a step whose node is not settled: prepares it for the shapes it reads now, gives
 * outputs their places, and computes. */
ml_status ml_run_unsettled(const ml_call *call);
/* Makes room for outputs whose shapes were set by eval. */
ml_status ml_settle_outputs(const ml_call *call);
/* Marks the readers of a slot as stale, because its shape has changed. The frame runs `sub` and
 * lies at `place`. */
void ml_mark_readers(ml_residence *residence, const ml_subgraph *sub, const ml_frame *place,
                     int32_t slot);
/* Moves output `i` to `data`, from now on. */
static inline void ml_point_output(const ml_call *c, int32_t i, void *data) {
    c->env->engine->data[c->inputs[c->n_inputs + i]] = data;
}

#endif
