/* sweep.h -- preparing nodes: all of a frame for a plan, or one that a run has reached. */
#ifndef ML_PLAN_SWEEP_H
#define ML_PLAN_SWEEP_H

#include "graph/engine.h"
#include "plan/rows.h"

/* What a node of a frame sees. */
ml_env ml_frame_env(const ml_engine *engine, struct ml_frame_engine *frame_engine);
/* Gives a frame's tensors what the file says of them; inputs and computed ones have no shape
 * yet. */
void ml_sweep_reset(ml_engine *engine, int32_t frame);
/* Prepares every stale node of a frame whose inputs have their shapes; the others wait. */
ml_status ml_sweep_frame(ml_engine *engine, int32_t frame);
/* Calls the kernel's prepare and reserves what pack needs; `row` is the node's, `wish` says what it
 * asked for. Notes where it failed. */
ml_status ml_prepare_call(ml_engine *engine, const ml_call *call, ml_node_plan *row, ml_wish *wish);
/* The call of a node of the environment's frame. */
static inline ml_call ml_call_of(const ml_engine *engine, const ml_env *env, int32_t n) {
    const struct ml_frame_engine *fe = env->engine;
    const ml_node *node = &fe->nodes[n];
    return (ml_call){.params = node->params,
                     .blob = engine->rows->blobs + fe->place->blob_base + node->blob_start,
                     .derived = node->derived,
                     .inputs = node->io->inputs,
                     .env = env,
                     .n_inputs = (uint16_t)node->io->n_inputs,
                     .n_outputs = (uint16_t)node->io->n_outputs,
                     .node = (uint32_t)n & (ML_MOST_NODES - 1)};
}
/* Fills in where an error happened, once: the node, its first inputs and their shapes. */
ml_status ml_blame(const ml_call *call, ml_status status);

#endif
