/* engine.h -- ml_engine: everything that preparing and running nodes needs.
 *
 * Kernels hold an opaque pointer to it, together with the core's table of functions. Other rooms
 * read it: the graph while nodes are derived, the rows of a plan while one is made, state and
 * residence in a run. */
#ifndef ML_GRAPH_ENGINE_H
#define ML_GRAPH_ENGINE_H

#include "graph/graph.h"

struct ml_folded;
struct ml_rows;
struct ml_residence;

typedef struct ml_engine {
    const ml_graph *graph;
    const ml_core *core; /* ml_planning_core; in a run, the core of run/run_core.c */
    const struct ml_simd *simd;
    ml_error *error;
    /* Set while a plan is made, and in a run: */
    struct ml_rows *rows; /* what prepare writes */
    const ml_hooks *hooks;
    ml_counters *counters;
    struct ml_folded **folded; /* folded values of the plan being made; NULL: nothing is folded */
    /* While a plan is made, by node of all subgraphs: an earlier node that it may repeat, or -1;
     * NULL: each node is prepared. */
    const int32_t *repeats;
    /* Set in a run: */
    ml_state *state;
    struct ml_residence *residence;
} ml_engine;

/* The target of env->engine. */
struct ml_frame_engine {
    ml_engine *engine;
    int32_t frame;
    int32_t subgraph;
    const ml_frame *place; /* set by ml_frame_env, as are sub and nodes */
    const ml_subgraph *sub;
    const ml_node *nodes;
    /* while folding, and in patches: tensors, in the order of the call's own numbers; else NULL */
    const int32_t *numbers;
    void **data; /* in a run: env->data, writable */
};

/* The core's functions before any run: in derive, and while a plan is made. */
extern const ml_core ml_planning_core;

/* The state and the call by which functions of a kernel are asked about the file, without a plan:
 * tensors have the rows `tensors`, by slot; the node is at position `n` of the subgraph. */
static inline ml_env ml_env_of_file(struct ml_frame_engine *engine, ml_tensor *tensors,
                                    ml_error *error) {
    const ml_graph *g = engine->engine->graph;
    const ml_subgraph *sub = &g->subgraphs[engine->subgraph];
    return (ml_env){.slots = sub->slots,
                    .tensors = tensors,
                    .constants = sub->constants,
                    .error = error,
                    .core = &ml_planning_core,
                    .simd = g->simd,
                    .engine = engine,
                    .fast_convolutions = g->fast_convolutions};
}
static inline ml_call ml_call_of_file(const ml_env *env, const ml_node *node, int32_t n) {
    return (ml_call){.params = node->params,
                     .derived = node->derived,
                     .inputs = node->io->inputs,
                     .env = env,
                     .n_inputs = (uint16_t)node->io->n_inputs,
                     .n_outputs = (uint16_t)node->io->n_outputs,
                     .node = (uint32_t)n & (ML_MOST_NODES - 1)};
}

/* Functions that are the same in a run. */
ml_status ml_core_fail(const ml_call *call, ml_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const ml_quantization *ml_core_quantization(const ml_call *call, int32_t tensor);
/* The number of input `i`, which is not absent, in its subgraph. */
static inline int32_t ml_number_of(const ml_call *c, int32_t i) {
    const int32_t *numbers = c->env->engine->numbers;
    return numbers ? numbers[c->inputs[i]] : c->inputs[i];
}
/* The row of output `i`, which exists. */
static inline ml_tensor *ml_output_row(const ml_call *c, int32_t i) {
    return &c->env->tensors[c->env->slots[c->inputs[c->n_inputs + i]]];
}
/* The row of output `i`; NULL if there is no such output. */
static inline ml_tensor *ml_core_output(const ml_call *c, int i) {
    int32_t number = i >= 0 && i < c->n_outputs ? c->inputs[c->n_inputs + i] : -1;
    int32_t slot = number < 0 ? -1 : c->env->slots[number];
    return slot < 0 ? NULL : &c->env->tensors[slot];
}
/* The elements of a shape, or -1 if no output may have it. Shapes may come from files,
 * from values or from functions of the caller, so every computed shape is checked here. Sizes in
 * bytes need no separate check, because the limit of ml_elements leaves room for the largest
 * type. */
static inline int64_t ml_core_elements(const ml_shape *shape) {
    if (shape->rank < 0 || shape->rank > ML_MAX_RANK) return -1;
    const int64_t few = ml_few_elements(shape);
    if (few >= 0) return few;
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dims[d] < 0) return -1;
    return ml_elements(shape);
}
static inline void ml_core_give_shape(ml_tensor *row, const ml_shape *shape, int64_t elements) {
    if (&row->shape != shape) row->shape = *shape;
    row->bytes = ml_bytes_of(elements, row->type);
    row->shaped = 1;
}
/* Writes the error: output `i` does not exist, or must not have the shape. */
ml_status ml_core_refuse_shape(const ml_call *call, int i, const ml_shape *shape);

#endif
