/* engine.h -- ml_engine: what prepares and runs nodes, as it stands behind the calls of kernels.
 *
 * Kernels have a pointer to it that they cannot follow, and the core's table of functions. Other
 * rooms follow it: to the graph while nodes are derived, to the rows of a plan while one is made,
 * to state and residence in a run. */
#ifndef ML_GRAPH_ENGINE_H
#define ML_GRAPH_ENGINE_H

#include "graph/graph.h"

struct ml_folded;
struct ml_rows;
struct ml_residence;

typedef struct ml_engine {
    const ml_graph *graph;
    const ml_core *core; /* ml_planning_core; in a run run/'s */
    const struct ml_simd *simd;
    ml_error *error;
    /* While a plan is made, and in a run: */
    struct ml_rows *rows; /* what prepare writes */
    const ml_hooks *hooks;
    ml_counters *counters;
    struct ml_folded **folded; /* the pool of the plan that is made; NULL: nothing is folded */
    /* In a run: */
    ml_state *state;
    struct ml_residence *residence;
} ml_engine;

/* What env->engine points at. */
struct ml_frame_engine {
    ml_engine *engine;
    int32_t frame;
    int32_t subgraph;
    const ml_frame *place; /* by ml_frame_env, as are sub and nodes */
    const ml_subgraph *sub;
    const ml_node *nodes;
    const int32_t *numbers; /* folding: the tensors after the call's own numbers; else NULL */
    void **data; /* in a run: env->data, writable */
};

/* The core as kernels see it before any run: in derive, and while a plan is made. */
extern const ml_core ml_planning_core;

/* What the core in a run has in common with it. */
ml_status ml_core_fail(const ml_call *call, ml_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const ml_quantization *ml_core_quantization(const ml_call *call, int32_t tensor);
/* The row of output `i`; NULL where there is none. */
static inline ml_tensor *ml_core_output(const ml_call *c, int i) {
    int32_t number = i >= 0 && i < c->n_outputs ? c->inputs[c->n_inputs + i] : -1;
    int32_t slot = number < 0 ? -1 : c->env->slots[number];
    return slot < 0 ? NULL : &c->env->tensors[slot];
}
/* The elements of a shape that a row may take, -1 for one that it may not. Shapes may come from
 * files, from values and from functions of the caller's: every computed one is checked by this.
 * Bytes need no check of their own, for ml_elements leaves room for the largest type. */
static inline int64_t ml_core_elements(const ml_tensor *row, const ml_shape *shape) {
    if (shape->rank < 0 || shape->rank > ML_MAX_RANK) return -1;
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dims[d] < 0) return -1;
    if (row->storage == ML_STORAGE_PERSISTENT && !ml_same_shape(&row->shape, shape)) return -1;
    return ml_elements(shape);
}
static inline void ml_core_give_shape(ml_tensor *row, const ml_shape *shape, int64_t elements) {
    if (&row->shape != shape) row->shape = *shape;
    row->bytes = ml_bytes_of(elements, row->type);
    row->shaped = 1;
}
/* Says why output `i` does not exist, or may not take the shape. */
ml_status ml_core_refuse_shape(const ml_call *call, int i, const ml_shape *shape);

#endif
