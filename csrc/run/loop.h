/* loop.h -- the loop over nodes. */
#ifndef ML_RUN_LOOP_H
#define ML_RUN_LOOP_H

#include "state/state.h"

/* Runs a frame, whose pointers must be resolved. */
ml_status ml_run_frame(ml_state *state, ml_residence *residence, int32_t frame);
/* The function that a step calls when its node is prepared for the shapes it reads. */
ml_eval_fn ml_eval_of(const ml_node *node, const ml_node_plan *row);

#endif
