/* control.h -- running subgraphs: what only the kernels in control/ may do. */
#ifndef ML_CONTROL_CONTROL_H
#define ML_CONTROL_CONTROL_H

#include "run/run.h"

/* A subgraph of the node, in a frame of its own. */
typedef struct ml_child {
    int32_t frame;
    const ml_planner_graph *io;
    const ml_subgraph *subgraph;
    const ml_rows *rows;
    void **data; /* NULL while planning */
} ml_child;

ml_child ml_child_of(const ml_call *call, int32_t k);
/* What values beside the arena are counted in. In a run. */
static inline ml_account *ml_account_of(const ml_call *c) {
    return &c->env->engine->engine->state->interpreter->account;
}
/* How many subgraphs the node has. */
static inline int32_t ml_children_of(const ml_call *c) {
    const struct ml_frame_engine *fe = c->env->engine;
    return fe->engine->graph->subgraphs[fe->subgraph].nodes[c->node].n_children;
}
static inline const ml_tensor *ml_child_input(const ml_call *c, const ml_child *child, int32_t i) {
    return ml_row_of(c->env->engine->engine->graph, child->rows, child->frame,
                     child->io->inputs[i]);
}
static inline const ml_tensor *ml_child_output(const ml_call *c, const ml_child *child, int32_t i) {
    return ml_row_of(c->env->engine->engine->graph, child->rows, child->frame,
                     child->io->outputs[i]);
}
/* Whether the run comes back with input `i` as output `i`. */
static inline bool ml_passes_through(const ml_child *child, int32_t i) {
    return child->io->outputs[i] == child->io->inputs[i];
}

/* Counts and types: the child takes operands of these types, one per input, and gives as many
 * outputs as `n_outputs`. All absent operands are refused. `what` names the child in the error. */
ml_status ml_child_check(const ml_call *call, const ml_child *child, int32_t n_outputs,
                         const char *what);
/* While planning: gives the child's inputs the shapes of the node's last operands (and, where
 * `values` says so, known values), and sweeps it. With `open` the shapes are left open: nodes that
 * depend on them wait for the run. */
ml_status ml_child_sweep(const ml_call *call, const ml_child *child, bool open, bool values);
/* While planning: output `i` will lie where the caller puts it, if a node of the child computes it
 * and no output before it is the same tensor. */
void ml_child_place_output(const ml_call *call, const ml_child *child, int32_t i);
static inline bool ml_child_output_is_placed(const ml_call *c, const ml_child *child, int32_t i) {
    const ml_tensor *t = ml_child_output(c, child, i);
    return t->storage == ML_STORAGE_SLOT && t->root == ~i;
}

/* In a run: input `i` takes this value; nodes that read it are prepared again if its shape
 * differs. */
void ml_child_set_input(const ml_call *call, const ml_child *child, int32_t i,
                        const ml_shape *shape, void *data, int64_t bytes);
ml_status ml_child_run(const ml_call *call, const ml_child *child);
/* The value of output `i` after a run, of no fixed size too. */
typedef struct ml_value_now {
    const ml_tensor *tensor;
    const void *data;
    int64_t bytes;
} ml_value_now;
ml_value_now ml_child_value(const ml_call *call, const ml_child *child, int32_t i);

/* The two blocks of a carry of the child; NULL, and the error, without memory. */
ml_block *ml_carry_blocks(const ml_call *call, const ml_child *child, int32_t i);

#endif
