/* larger.c -- grants nodes larger forms of their weights, which are faster: up to a number of bytes
 * in all, to those that gain most per byte first. The graph decides once, from the shapes in the
 * file, so a node's forms do not depend on the sizes that it runs at, nor on their order. */
#include <stdlib.h>

#include "graph/engine.h"

typedef struct candidate {
    ml_larger_form form;
    int64_t number; /* of the node in the graph: earlier ones come first where gains are equal */
} candidate;

static int by_gain(const void *first, const void *second) {
    const candidate *a = first, *b = second;
    if (a->form.gain != b->form.gain) return a->form.gain < b->form.gain ? 1 : -1;
    return a->number < b->number ? -1 : 1;
}

static bool may_have_larger(const ml_node *node) {
    return node->typed && node->derived && node->kernel->larger;
}

static int64_t count_candidates(const ml_graph *g) {
    int64_t count = 0;
    for (int64_t n = 0; n < g->n_nodes; n++) count += may_have_larger(&g->nodes[n]);
    return count;
}

/* Asks the nodes of a subgraph; returns how many have a larger form. */
static int64_t ask_nodes(const ml_graph *g, int32_t s, ml_tensor *rows, candidate *found) {
    const ml_subgraph *sub = &g->subgraphs[s];
    ml_engine planning = {.graph = g, .core = &ml_planning_core, .simd = g->simd};
    struct ml_frame_engine engine = {.engine = &planning, .subgraph = s};
    ml_error ignored = ML_NO_ERROR;
    const ml_env env = ml_env_of_file(&engine, rows, &ignored);
    int64_t count = 0;
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        const ml_node *node = &sub->nodes[n];
        if (!may_have_larger(node)) continue;
        const ml_call c = ml_call_of_file(&env, node, n);
        found[count] = (candidate){.number = node - g->nodes};
        count += node->kernel->larger(&c, &found[count].form);
    }
    return count;
}

ml_status ml_graph_grant_larger(ml_graph *g, int64_t most, ml_error *error) {
    const int64_t room = most > 0 ? count_candidates(g) : 0;
    if (room == 0) return ML_OK;
    candidate *found = calloc((size_t)room, sizeof *found);
    int64_t count = 0;
    for (int32_t s = 0; found && s < g->n_subgraphs; s++) {
        ml_tensor *rows = ml_rows_of_file(&g->subgraphs[s]);
        if (rows) count += ask_nodes(g, s, rows, found + count);
        else {
            free(found);
            found = NULL;
        }
        free(rows);
    }
    if (!found) return ml_error_refused(error, "choosing forms of weights");
    qsort(found, (size_t)count, sizeof *found, by_gain);
    for (int64_t i = 0; i < count; i++) {
        const ml_larger_form *form = &found[i].form;
        if (form->bytes > most - g->larger_bytes) continue;
        g->larger_bytes += form->bytes;
        *form->granted = form->form;
    }
    free(found);
    return ML_OK;
}
