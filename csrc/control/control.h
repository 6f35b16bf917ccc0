/* control.h -- running subgraphs, for the kernels in control/ alone. */
#ifndef ML_CONTROL_CONTROL_H
#define ML_CONTROL_CONTROL_H

#include "run/dynamic.h"
#include "run/loop.h"

/* A subgraph that the node calls, in a frame of its own. */
typedef struct ml_child {
    int32_t frame;
    const ml_planner_graph *io;
    const ml_subgraph *subgraph;
    const ml_rows *rows;
    void **data; /* NULL while planning */
} ml_child;

ml_child ml_child_of(const ml_call *call, int32_t k);
/* The account for values outside the arena; in a run only. */
static inline ml_account *ml_account_of(const ml_call *c) {
    return &c->env->engine->engine->state->interpreter->account;
}
/* The number of subgraphs that the node calls. */
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
/* True if output `i` of the child is its input `i`. */
static inline bool ml_passes_through(const ml_child *child, int32_t i) {
    return child->io->outputs[i] == child->io->inputs[i];
}

/* Checks that the child takes the node's operands from number `first` on (one per input, types
 * equal), and has `n_outputs` outputs. The error names the child by `what`, and by `number` if that
 * is not negative. */
ml_status ml_child_check(const ml_call *call, const ml_child *child, int32_t first,
                         int32_t n_outputs, const char *what, int32_t number);
/* While planning: gives the child's inputs the shapes of the node's last operands (with `values`,
 * known values too), and sweeps the child. With `open` these shapes are left open: nodes that
 * depend on them wait for the run. */
ml_status ml_child_sweep(const ml_call *call, const ml_child *child, bool open, bool values);
/* While planning: lets the caller decide where output `i` lies, if a node of the child computes it
 * and no earlier output is the same tensor. */
void ml_child_place_output(const ml_call *call, const ml_child *child, int32_t i);
static inline bool ml_child_output_is_placed(const ml_call *c, const ml_child *child, int32_t i) {
    const ml_tensor *t = ml_child_output(c, child, i);
    return t->storage == ML_STORAGE_SLOT && t->root == ~i;
}

/* Sets the value of input `i` in a run; if its shape has changed, nodes that read it are prepared
 * again. */
void ml_child_set_input(const ml_call *call, const ml_child *child, int32_t i,
                        const ml_shape *shape, void *data, int64_t bytes);
ml_status ml_child_run(const ml_call *call, const ml_child *child);
/* The value of output `i` after a run, of any type. */
typedef struct ml_value_now {
    const ml_tensor *tensor;
    const void *data;
    int64_t bytes;
} ml_value_now;
ml_value_now ml_child_value(const ml_call *call, const ml_child *child, int32_t i);

/* Says which of their two blocks the carried values of the child are written to from now on. */
void ml_child_writes(const ml_call *call, const ml_child *child, int32_t block);
/* The two blocks of a carried value of the child; without memory NULL, and the error is set. */
ml_block *ml_carry_blocks(const ml_call *call, const ml_child *child, int32_t i);

#endif
