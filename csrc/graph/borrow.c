/* borrow.c -- lets nodes read the value of a variable in place, without copying it first.
 *
 * A READ_VARIABLE node outputs the variable's value at that moment. If nothing can assign the
 * variable before the last reader of that output, no copy is needed: the node points its output at
 * the variable's own bytes, and the output is hidden, since it has no memory of its own. This is
 * not done across nodes that may assign unknown variables: nodes with other effects, which may run
 * subgraphs, and assignments whose handle comes from elsewhere. Readers must be C kernels without
 * effects, which write only to their outputs, or assignments of other variables.
 *
 * Outputs of subgraphs are never hidden, because callers may read them. */
#include <stdlib.h>

#include "graph/graph.h"

enum { ANY = -1 }; /* a variable that is not known */
enum { LASTING = INT32_MAX }; /* position of a reader that comes after all nodes */

/* One subgraph, while its nodes are examined. */
typedef struct borrowing {
    ml_graph *graph;
    const ml_subgraph *sub;
    const ml_kernel *handle, *read, *assign;
    /* by tensor: the variable that it is a handle of; ANY where that is not known */
    int32_t *variables;
    /* by tensor: position of its last reader; LASTING if it is an output; -1 = none */
    int32_t *last;
    int32_t *assigned; /* by variable: position of the next node that assigns it; LASTING = none */
    int32_t any; /* position of the next node that may assign any variable */
    int32_t one; /* position of the next node that assigns a known variable */
} borrowing;

static int32_t resource_of(const ml_node *node) {
    int32_t resource;
    memcpy(&resource, (const uint8_t *)node->params + node->kernel->fields[0].offset,
           sizeof resource);
    return resource;
}

static bool may_borrow(const borrowing *b, const ml_node *node) {
    return node->typed && !(node->kernel->flags & ML_KERNEL_HAS_EFFECTS);
}

/* Finds the variable of each handle and the last reader of each tensor. */
static void look(const borrowing *b) {
    const ml_planner_graph *io = &b->sub->io;
    for (int32_t t = 0; t < io->n_tensors; t++) {
        b->variables[t] = ANY;
        b->last[t] = -1;
    }
    for (int32_t n = 0; n < io->n_nodes; n++) {
        const ml_node *node = &b->sub->nodes[n];
        const bool reads = may_borrow(b, node) || node->kernel == b->assign;
        for (int32_t i = 0; i < node->io->n_inputs; i++) {
            const int32_t t = node->io->inputs[i];
            if (t >= 0 && b->last[t] != LASTING) b->last[t] = reads ? n : LASTING;
        }
        if (node->kernel == b->handle) b->variables[node->io->outputs[0]] = resource_of(node);
    }
    for (int32_t i = 0; i < io->n_outputs; i++) b->last[io->outputs[i]] = LASTING;
}

/* The variable of a node that reads or assigns; its handle is there. */
static int32_t variable_of(const borrowing *b, const ml_node *node) {
    return b->variables[node->io->inputs[0]];
}

/* The first node after this one that may assign the variable. */
static int32_t next_assigned(const borrowing *b, int32_t variable) {
    const int32_t next = variable < 0 ? b->one : b->assigned[variable];
    return next < b->any ? next : b->any;
}

static void borrow(const borrowing *b, const ml_node *node) {
    const int32_t value = node->io->outputs[0];
    const ml_tensor_def *t = &b->sub->tensors[value];
    if (ml_type_is_heap(t->type) || b->last[value] >= next_assigned(b, variable_of(b, node)))
        return;
    b->graph->node_io[node->io - b->graph->node_io].flags |= ML_NODE_BORROWS;
    b->graph->tensor_defs[t - b->graph->tensor_defs].flags |= ML_TENSOR_HIDDEN;
}

/* Goes backwards, so that the next assignment is known at each node. */
static void borrow_in_subgraph(borrowing *b) {
    look(b);
    b->any = b->one = LASTING;
    for (int32_t n = b->sub->io.n_nodes - 1; n >= 0; n--) {
        ml_node *node = &b->sub->nodes[n];
        if (node->kernel == b->read) borrow(b, node);
        if (node->kernel != b->assign) {
            const bool effects = node->kernel->flags & ML_KERNEL_HAS_EFFECTS;
            if (effects && node->kernel != b->read) b->any = b->one = n;
            continue;
        }
        const int32_t variable = variable_of(b, node);
        b->one = n;
        if (variable < 0) b->any = n;
        else b->assigned[variable] = n;
    }
    for (int32_t n = 0; n < b->sub->io.n_nodes; n++) {
        const int32_t variable =
            b->sub->nodes[n].kernel == b->assign ? variable_of(b, &b->sub->nodes[n]) : ANY;
        if (variable >= 0) b->assigned[variable] = LASTING;
    }
}

ml_status ml_graph_borrow(ml_graph *g, ml_error *error) {
    borrowing b = {.graph = g,
                   .handle = ml_kernel_find("var_handle"),
                   .read = ml_kernel_find("read_variable"),
                   .assign = ml_kernel_find("assign_variable")};
    bool any = false;
    int64_t most = 0;
    for (int64_t n = 0; n < g->n_nodes; n++) any |= g->nodes[n].kernel == b.read;
    if (!any) return ML_OK;
    for (int32_t s = 0; s < g->n_subgraphs; s++)
        most = ml_max_s64(most, g->subgraphs[s].io.n_tensors);
    b.variables = malloc((size_t)(2 * most + g->n_resources + 1) * sizeof *b.variables);
    if (!b.variables) return ml_error_refused(error, "a graph's variables");
    b.last = b.variables + most;
    b.assigned = b.last + most;
    for (int32_t v = 0; v < g->n_resources; v++) b.assigned[v] = LASTING;
    for (int32_t s = 0; s < g->n_subgraphs; s++) {
        b.sub = &g->subgraphs[s];
        if (!b.sub->planned_offline) borrow_in_subgraph(&b);
    }
    free(b.variables);
    return ML_OK;
}
