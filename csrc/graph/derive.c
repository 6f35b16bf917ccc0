/* derive.c -- makes each node's derived block, which depends on the file alone; once per graph.
 *
 * derive sees its node as prepare will, except for shapes: constants have their values and shapes,
 * computed tensors their types and the file's shapes, and every tensor its quantization. */
#include <stdlib.h>

#include "core/error.h"
#include "graph/engine.h"
#include "os/os.h"

/* The limit for all nodes together. Files may state shapes of weights that they do not hold. */
enum { MOST_DERIVED_BYTES = 1 << 28 };

static ml_status derive_node(ml_graph *g, int32_t subgraph, int32_t n, const ml_env *env,
                             ml_error *error) {
    ml_node *node = &g->subgraphs[subgraph].nodes[n];
    const ml_call c = ml_call_of_file(env, node, n);
    int64_t bytes = node->typed->derive(&c, NULL);
    if (bytes > MOST_DERIVED_BYTES - g->derived_bytes) {
        ml_error_set(error, ML_UNSUPPORTED,
                     "%lld bytes of multipliers and tables, at most %d are supported in a model",
                     (long long)(g->derived_bytes + bytes), MOST_DERIVED_BYTES);
        bytes = -1;
    }
    if (bytes >= 0) {
        g->derived_bytes += bytes;
        node->derived = ml_os_allocate(bytes);
        if (!node->derived) return ml_error_memory(error, "a node's derived block", bytes, 0);
        memset(node->derived, 0, (size_t)bytes);
        bytes = node->typed->derive(&c, node->derived);
    }
    if (bytes >= 0) return ML_OK;
    if (error->status == ML_OK)
        ml_error_set(error, ML_UNSUPPORTED, "its quantization is not supported");
    const bool named = error->n_tensors > 0;
    error->subgraph = subgraph;
    error->node = node->index;
    for (int32_t i = 0; i < node->io->n_inputs && !named; i++)
        if (node->io->inputs[i] >= 0) ml_error_about(error, node->io->inputs[i], NULL);
    return error->status;
}

ml_tensor *ml_rows_of_file(const ml_subgraph *sub) {
    ml_tensor *tensors = calloc((size_t)sub->n_slots + 1, sizeof *tensors);
    for (int32_t slot = 0; tensors && slot < sub->n_slots; slot++) {
        const ml_tensor_def *def = &sub->tensors[sub->numbers[slot]];
        tensors[slot] = (ml_tensor){.shape = def->shape, .type = (uint8_t)def->type};
    }
    return tensors;
}

/* Derives the nodes of one subgraph; *errors is where the next refusal is written. */
static ml_status derive_subgraph(ml_graph *g, int32_t s, ml_error **errors, const ml_error *last) {
    const ml_subgraph *sub = &g->subgraphs[s];
    bool any = false;
    for (int32_t n = 0; n < sub->io.n_nodes && !any; n++)
        any = sub->nodes[n].typed && sub->nodes[n].typed->derive;
    if (!any) return ML_OK;
    ml_tensor *tensors = ml_rows_of_file(sub);
    if (!tensors) return ml_error_refused(*errors, "deriving");
    ml_engine planning = {.graph = g, .core = &ml_planning_core, .simd = g->simd};
    struct ml_frame_engine engine = {.engine = &planning, .subgraph = s};
    ml_env env = ml_env_of_file(&engine, tensors, NULL);
    ml_status status = ML_OK;
    for (int32_t n = 0; n < sub->io.n_nodes && status == ML_OK; n++) {
        if (!sub->nodes[n].typed || !sub->nodes[n].typed->derive) continue;
        env.error = *errors;
        status = derive_node(g, s, n, &env, *errors);
        if (status == ML_UNSUPPORTED && *errors < last) {
            ++*errors;
            status = ML_OK;
        }
    }
    free(tensors);
    return status;
}

ml_status ml_graph_derive(ml_graph *g, ml_error *errors, int32_t n_errors) {
    ml_error *next = errors;
    ml_status status = ML_OK;
    for (int32_t s = 0; s < g->n_subgraphs && status == ML_OK; s++)
        status = derive_subgraph(g, s, &next, errors + n_errors - 1);
    return errors->status;
}
