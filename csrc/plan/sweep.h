/* sweep.h -- prepares nodes: all nodes of a frame for a plan, or a single node in a run. */
#ifndef ML_PLAN_SWEEP_H
#define ML_PLAN_SWEEP_H

#include "graph/engine.h"
#include "plan/rows.h"

/* The environment that calls of a frame's nodes get. */
ml_env ml_frame_env(const ml_engine *engine, struct ml_frame_engine *frame_engine);
/* Sets a frame's tensors to what the file says; inputs and computed tensors have no shape yet. */
void ml_sweep_reset(ml_engine *engine, int32_t frame);
/* Prepares every stale node of a frame whose inputs have their shapes; the others wait. */
ml_status ml_sweep_frame(ml_engine *engine, int32_t frame);
/* Calls the kernel's prepare and reserves what pack needs; `row` belongs to the node, and `wish`
 * receives what it asks for. On failure the error gets the coordinates of the node. */
ml_status ml_prepare_call(ml_engine *engine, const ml_call *call, ml_node_plan *row, ml_wish *wish);
/* The call of a node of the environment's frame. */
static inline ml_call ml_call_of(const ml_engine *engine, const ml_env *env, int32_t n) {
    const struct ml_frame_engine *fe = env->engine;
    const ml_node *node = &fe->nodes[n];
    ml_call call = ml_call_of_file(env, node, n);
    call.blob = engine->rows->blobs + fe->place->blob_base + node->blob_start;
    return call;
}
/* Adds the place to an error that has none: the node, its first inputs and their shapes. */
ml_status ml_blame(const ml_call *call, ml_status status);

#endif
