/* graph.c -- ml_graph: copies the loading description and lays out the frames, one per place a subgraph is run from. */
#include <stdlib.h>

#include "run/engine.h"

static void *copy_bytes(const void *source, size_t bytes) {
    void *copy = malloc(bytes ? bytes : 1);
    if (copy && bytes) memcpy(copy, source, bytes);
    return copy;
}

static int64_t align8(int64_t bytes) { return (bytes + 15) & ~(int64_t)15; }

/* Nodes of all subgraphs, pointing at their parameters and tensor numbers. */
static ml_status copy_nodes(ml_graph *g, const ml_graph_def *def, ml_error *error) {
    int32_t tensor = 0, node = 0;
    for (int32_t s = 0; s < def->n_subgraphs; s++) {
        const ml_subgraph_def *from = &def->subgraphs[s];
        ml_subgraph *to = &g->subgraphs[s];
        to->tensors = g->tensor_defs + tensor;
        to->nodes = g->nodes + node;
        to->io = (ml_planner_graph){g->node_io + node,
                                    g->io + from->inputs_start,
                                    g->io + from->outputs_start,
                                    from->n_nodes,
                                    from->n_tensors,
                                    from->n_inputs,
                                    from->n_outputs};
        for (int32_t n = 0; n < from->n_nodes; n++) {
            const ml_node_def *d = &def->nodes[node + n];
            const ml_kernel *kernel = d->kernel;
            g->node_io[node + n] = (ml_node_io){g->io + d->io_start,
                                                g->io + d->io_start + d->n_inputs,
                                                d->n_inputs,
                                                d->n_outputs,
                                                d->flags,
                                                0};
            to->nodes[n] = (ml_node){
                kernel,
                d->typed >= 0 && kernel->typed[d->typed].eval ? &kernel->typed[d->typed] : NULL,
                g->params + d->params_start,
                NULL,
                &g->node_io[node + n],
                to->blob_bytes,
                d->index,
                d->handler,
                {-1, -1}};
            for (int k = 0; k < d->n_subgraphs && k < 2; k++)
                to->nodes[n].subgraphs[k] = g->io[d->io_start + d->n_inputs + d->n_outputs + k];
            to->blob_bytes += align8(kernel->blob_bytes);
        }
        tensor += from->n_tensors;
        node += from->n_nodes;
    }
    return ML_OK;
}

/* Adds the frame that runs `subgraph` for `node` of `parent`, then those below it; refuses cycles. */
static ml_status add_frame(ml_graph *g, int32_t subgraph, int32_t parent, int32_t node,
                           ml_error *error, int32_t *number) {
    for (int32_t f = parent; f >= 0; f = g->frames[f].parent)
        if (g->frames[f].subgraph == subgraph)
            return ml_error_set(
                error, ML_GRAPH_ERROR,
                "subgraph %d calls itself: a runtime without recursion cannot run it", subgraph);
    if (g->n_frames == ML_MAX_FRAMES)
        return ml_error_set(error, ML_GRAPH_ERROR, "subgraphs are called from more than %d places",
                            ML_MAX_FRAMES);
    const ml_subgraph *sub = &g->subgraphs[subgraph];
    if (sub->io.n_tensors > INT32_MAX / 4 - g->total_tensors ||
        sub->io.n_nodes > INT32_MAX / 4 - g->total_nodes)
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "calls unfold to more tensors than an int32 counts");
    ml_frame *frames = realloc(g->frames, (size_t)(g->n_frames + 1) * sizeof *frames);
    if (!frames)
        return ml_error_set(error, ML_ARENA_ERROR, "no memory for %d frames", g->n_frames + 1);
    g->frames = frames;
    int32_t frame = g->n_frames++;
    *number = frame;
    g->frames[frame] =
        (ml_frame){subgraph, parent, node, g->total_tensors + 1, g->total_nodes, 0, g->blob_bytes};
    g->total_tensors += sub->io.n_tensors + 1;
    g->total_nodes += sub->io.n_nodes;
    g->blob_bytes += sub->blob_bytes;
    int32_t (*children)[2] = realloc(g->children, (size_t)(g->total_nodes + 1) * sizeof *children);
    if (!children)
        return ml_error_set(error, ML_ARENA_ERROR, "no memory for %d nodes", g->total_nodes);
    g->children = children;
    for (int32_t n = 0; n < sub->io.n_nodes; n++)
        for (int k = 0; k < 2; k++) {
            int32_t called = sub->nodes[n].subgraphs[k], child = -1;
            if (called >= g->n_subgraphs)
                return ml_error_set(error, ML_GRAPH_ERROR, "node %d calls subgraph %d of %d",
                                    sub->nodes[n].index, called, g->n_subgraphs);
            if (called >= 0) {
                ml_status status = add_frame(g, called, frame, n, error, &child);
                if (status != ML_OK) return status;
            }
            g->children[g->frames[frame].node_base + n][k] = child;
        }
    return ML_OK;
}

ml_status ml_graph_new(const ml_graph_def *def, ml_graph **graph, ml_error *error) {
    size_t tensors = 0, nodes = 0, count = (size_t)def->n_subgraphs;
    for (size_t s = 0; s < count; s++) {
        tensors += (size_t)def->subgraphs[s].n_tensors;
        nodes += (size_t)def->subgraphs[s].n_nodes;
    }
    *graph = NULL;
    ml_graph *g = calloc(1, sizeof *g);
    if (!g) return ml_error_set(error, ML_ARENA_ERROR, "no memory for a graph of %zu nodes", nodes);
    atomic_init(&g->holders, 1);
    g->n_subgraphs = def->n_subgraphs;
    g->n_resources = def->n_resources;
    g->n_nodes = (int64_t)nodes;
    g->store = ml_store_hold(def->store);
    g->own = ml_store_new();
    for (size_t t = 0; t < tensors; t++) g->planned_offline |= def->tensors[t].offline_offset >= 0;
    g->subgraphs = calloc(count + 1, sizeof *g->subgraphs);
    g->nodes = calloc(nodes + 1, sizeof *g->nodes);
    g->node_io = calloc(nodes + 1, sizeof *g->node_io);
    g->tensor_defs = copy_bytes(def->tensors, tensors * sizeof *def->tensors);
    g->io = copy_bytes(def->io, (size_t)def->n_io * sizeof *def->io);
    g->quantizations =
        copy_bytes(def->quantizations, (size_t)def->n_quantizations * sizeof *def->quantizations);
    g->params = copy_bytes(def->params, (size_t)def->params_bytes);
    ml_status status;
    if (!g->subgraphs || !g->nodes || !g->node_io || !g->tensor_defs || !g->io || !g->params ||
        !g->quantizations || !g->own) {
        status = ml_error_set(error, ML_ARENA_ERROR, "no memory for a graph of %zu nodes", nodes);
    } else {
        int32_t root;
        status = copy_nodes(g, def, error);
        if (status == ML_OK) status = add_frame(g, def->root, -1, -1, error, &root);
        if (status == ML_OK) status = ml_graph_derive(g, error);
    }
    if (status != ML_OK) {
        ml_graph_free(g);
        return status;
    }
    *graph = g;
    return ML_OK;
}

ml_graph *ml_graph_hold(const ml_graph *graph) {
    ml_graph *g = (ml_graph *)(uintptr_t)graph; /* constant but for the count */
    atomic_fetch_add(&g->holders, 1);
    return g;
}

void ml_graph_free(ml_graph *g) {
    if (!g || atomic_fetch_sub(&g->holders, 1) > 1) return;
    for (int64_t n = 0; g->nodes && n < g->n_nodes; n++) free(g->nodes[n].derived);
    ml_store_free(g->store);
    ml_store_free(g->own);
    free(g->subgraphs);
    free(g->nodes);
    free(g->node_io);
    free(g->frames);
    free(g->children);
    free(g->tensor_defs);
    free(g->io);
    free(g->params);
    free(g->quantizations);
    free(g);
}
