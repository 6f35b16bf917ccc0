/* run.h -- running: the loop over nodes, and what it does where shapes depend on values. */
#ifndef ML_RUN_RUN_H
#define ML_RUN_RUN_H

#include "state/state.h"

/* run_core.c: the core as kernels see it in a run. */
extern const ml_core ml_run_core;
/* Output `i` lies here from now on. */
static inline void ml_point_output(const ml_call *c, int32_t i, void *data) {
    c->env->engine->data[c->inputs[c->n_inputs + i]] = data;
}

/* loop.c: runs a frame; its pointers are resolved. */
ml_status ml_run_frame(ml_state *state, ml_residence *residence, int32_t frame);
/* Ticks between two looks at the clock; a run begins with as many. */
enum { ML_TICKS_PER_LOOK = 64 };
/* Lets Python handle signals every 50 ms of work; spends `ticks` of the budget between two looks at
 * the clock. */
ml_status ml_check_interrupt(ml_state *state, int32_t ticks);
/* The same between blocks of a node, with a look at the clock each time; `owner` is the state. */
ml_status ml_poll_state(void *owner);
/* What the step of a node runs that is prepared for what it reads. */
ml_eval_fn ml_eval_of(const ml_node *node, const ml_node_plan *row);

/* dynamic.c: eval of nodes that are not prepared for what they read now: prepares, settles,
 * computes. */
ml_status ml_run_unsettled(const ml_call *call);
/* Makes room for outputs whose shapes eval has given. */
ml_status ml_settle_outputs(const ml_call *call);
/* Marks the readers of a slot whose shape has changed; its frame runs `sub` at `place`. */
void ml_mark_readers(ml_residence *residence, const ml_subgraph *sub, const ml_frame *place,
                     int32_t slot);

/* grow.c: places a record of a frame alone, where it meets nothing that is live with it. `id` is a
 * tensor, or n_tensors plus the position of a node for its scratch; *offset is where it lies,
 * before and after. */
ml_status ml_grow(ml_state *state, ml_residence *residence, int32_t frame, int32_t id,
                  int64_t bytes, int64_t *offset);
/* Whether the place at `offset` is the record's, by placement or by ml_grow: it may lie where
 * another one grew. */
bool ml_has_place(const ml_alone_list *list, int32_t id, int64_t offset);

#endif
