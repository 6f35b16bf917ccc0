/* borrow.c -- values of variables that are read where they lie, not copied out first.
 *
 * A READ_VARIABLE gives the value of the moment. Where nothing can assign the variable before the
 * last reader of that value, the variable's own bytes are it: the node points the tensor at them,
 * and the tensor is hidden, for it has no memory of its own. In the way stands whatever may assign
 * nobody knows what: nodes with other effects, which may run subgraphs, and assignments by handles
 * that come from elsewhere. Readers are kernels in C without effects, which write outputs alone, or
 * assignments of other variables.
 *
 * Nothing is hidden that a caller could ask for: outputs of subgraphs have to last. */
#include <stdlib.h>

#include "graph/graph.h"

enum { ANY = -1 }; /* variable that nobody can tell */
enum { LASTING = INT32_MAX }; /* position of a reader that comes after all nodes */

/* A subgraph while its nodes are looked at. */
typedef struct borrowing {
    ml_graph *graph;
    const ml_subgraph *sub;
    const ml_kernel *handle, *read, *assign;
    int32_t *variables; /* by tensor: of its handle, ANY where there is none */
    int32_t *last; /* by tensor: position of its last reader, LASTING where it lasts; -1: none */
    int32_t *assigned; /* by variable: the next node that assigns it; LASTING: none */
    int32_t any; /* the next node that may assign any variable */
    int32_t one; /* the next node that assigns one */
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

/* Fills in who holds the handles, and who reads what last. */
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
        if (node->kernel == b->handle && node->io->outputs[0] >= 0)
            b->variables[node->io->outputs[0]] = resource_of(node);
    }
    for (int32_t i = 0; i < io->n_outputs; i++)
        if (io->outputs[i] >= 0) b->last[io->outputs[i]] = LASTING;
}

static int32_t variable_of(const borrowing *b, const ml_node *node) {
    const int32_t handle = node->io->n_inputs > 0 ? node->io->inputs[0] : -1;
    const int32_t variable = handle < 0 ? ANY : b->variables[handle];
    return variable < b->graph->n_resources ? variable : ANY;
}

/* The first node after this one that may assign the variable. */
static int32_t next_assigned(const borrowing *b, int32_t variable) {
    const int32_t next = variable < 0 ? b->one : b->assigned[variable];
    return next < b->any ? next : b->any;
}

static void borrow(const borrowing *b, const ml_node *node) {
    const int32_t value = node->io->n_outputs == 1 ? node->io->outputs[0] : -1;
    if (value < 0) return;
    const ml_tensor_def *t = &b->sub->tensors[value];
    if (ml_type_is_heap(t->type) || t->flags & ML_TENSOR_VARIABLE ||
        b->last[value] >= next_assigned(b, variable_of(b, node)))
        return;
    b->graph->node_io[node->io - b->graph->node_io].flags |= ML_NODE_BORROWS;
    b->graph->tensor_defs[t - b->graph->tensor_defs].flags |= ML_TENSOR_HIDDEN;
}

/* From back to front, so that what assigns next is known at each node. */
static void borrow_in_subgraph(borrowing *b) {
    look(b);
    b->any = b->one = LASTING;
    for (int32_t n = b->sub->io.n_nodes - 1; n >= 0; n--) {
        ml_node *node = &b->sub->nodes[n];
        if (node->kernel == b->read && node->typed) borrow(b, node);
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
    if (!b.variables) return ml_error_memory(error, "a graph's variables", most, 0);
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
