/* bound.c -- checks the buffers that callers have bound to tensors of the main subgraph.
 *
 * A bound tensor is not in the arena and shares no place, so only the node that computes it writes
 * to it. Buffers may overlap if their tensors are never live at the same time. One buffer may be
 * bound to both an input of a node and its output, if the node is the last reader of the input and
 * may overwrite it: so a cache can be updated where it is.
 *
 * The plan depends on which tensors are bound, not on their buffers, so buffers are checked
 * whenever a residence is put into use, or other buffers are bound. When a run changes a shape, it
 * checks only the size: overlaps have been checked for the whole buffer of a dynamic tensor. */
#include <stdio.h>

#include "state/state.h"

static ml_status at_tensors(const ml_plan *plan, ml_error *error, int32_t tensor, int32_t other) {
    error->subgraph = plan->graph->frames[0].subgraph;
    ml_error_about(error, tensor, NULL);
    if (other >= 0) ml_error_about(error, other, NULL);
    return (ml_status)error->status;
}

static ml_status check_bytes(const ml_plan *plan, const ml_tensor *t, const ml_binding *b,
                             ml_error *error) {
    if (t->bytes <= b->bytes) return ML_OK;
    error->needed = t->bytes;
    error->available = b->bytes;
    ml_error_set(error, ML_ARENA_ERROR,
                 ML_FIRST " needs %lld bytes, the buffer bound to it has %lld", (long long)t->bytes,
                 (long long)b->bytes);
    return at_tensors(plan, error, b->tensor, -1);
}

ml_status ml_bound_check_bytes(const ml_state *s, const ml_residence *r, int32_t tensor,
                               ml_error *error) {
    int32_t i = 0;
    while (s->bound[i].tensor != tensor) i++; /* it is bound, its row says */
    return check_bytes(r->plan, ml_row_of(s->graph, r->rows, 0, tensor), &s->bound[i], error);
}

/* Bytes that a tensor may take in its buffer: the whole buffer, if runs may change its shape. */
static int64_t extent(const ml_binding *b, const ml_tensor *t) {
    return t->dynamic ? b->bytes : t->bytes;
}

/* Addresses are compared as numbers: pointers into different objects have no order in C. */
static bool overlap(const ml_binding *a, int64_t a_bytes, const ml_binding *b, int64_t b_bytes) {
    uintptr_t from = (uintptr_t)a->data, to = (uintptr_t)b->data;
    return from < to + (uintptr_t)b_bytes && to < from + (uintptr_t)a_bytes && a_bytes > 0 &&
           b_bytes > 0;
}

/* " at node 12", with the number in the file; empty for a graph without nodes. */
static const char *at_node(const ml_plan *plan, int32_t position, char text[32]) {
    const ml_subgraph *sub = ml_frame_subgraph(plan->graph, 0);
    text[0] = 0;
    if (position >= 0 && position < sub->io.n_nodes)
        snprintf(text, 32, " at node %d", sub->nodes[position].index);
    return text;
}

/* A bound tensor shares no place, so what is reserved for it is its own lifetime, without bytes. */
static const ml_reserved *life_of(const ml_plan *plan, const ml_binding *b) {
    const ml_graph *g = plan->graph;
    return &plan->rows.reserved[g->frames[0].slot_base + ml_frame_subgraph(g, 0)->slots[b->tensor]];
}

/* True if the node that computes `b` is the last reader of `a` and may overwrite it. Then one
 * buffer may be bound to both. */
static bool updates(const ml_plan *plan, const ml_binding *a, const ml_binding *b) {
    const ml_subgraph *sub = ml_frame_subgraph(plan->graph, 0);
    const int32_t last = life_of(plan, a)->last, first = life_of(plan, b)->first;
    if (last != first || first < 0 || first >= sub->io.n_nodes) return false;
    const ml_node *node = &sub->nodes[first];
    const ml_node_io *io = node->io;
    int32_t input = -1, output = -1;
    for (int32_t i = 0; i < io->n_inputs; i++)
        if (io->inputs[i] == a->tensor) {
            if (input >= 0) return false;
            input = i;
        }
    for (int32_t i = 0; i < io->n_outputs; i++)
        if (io->outputs[i] == b->tensor) output = i;
    if (input < 0 || output < 0 || !node->typed) return false;
    if (output == 0 && input < 8 && io->flags & (ML_NODE_IN_PLACE << input)) return true;
    return input == output && node->kernel->flags & ML_KERNEL_IN_PAIRS;
}

static ml_status check_pair(const ml_plan *plan, const ml_rows *rows, const ml_binding *a,
                            const ml_binding *b, ml_error *error) {
    const ml_reserved *life_a = life_of(plan, a), *life_b = life_of(plan, b);
    if (life_a->first > life_b->last || life_b->first > life_a->last) return ML_OK;
    const ml_tensor *ta = ml_row_of(plan->graph, rows, 0, a->tensor),
                    *tb = ml_row_of(plan->graph, rows, 0, b->tensor);
    if (!overlap(a, extent(a, ta), b, extent(b, tb))) return ML_OK;
    if (a->data == b->data && ta->bytes == tb->bytes && !ta->dynamic && !tb->dynamic &&
        (updates(plan, a, b) || updates(plan, b, a)))
        return ML_OK;
    char text[32];
    int32_t meet = life_a->first > life_b->first ? life_a->first : life_b->first;
    ml_error_set(error, ML_BINDING_ERROR,
                 ML_FIRST " and " ML_SECOND " are live at once%s, their buffers must not overlap",
                 at_node(plan, meet, text));
    return at_tensors(plan, error, a->tensor, b->tensor);
}

/* A bound tensor whose value turned out to be known was folded, and no longer lies in its buffer;
 * only the plan tells that. */
ml_status ml_bound_check(const ml_plan *plan, const ml_rows *rows, const ml_binding *bound,
                         int32_t n_bound, ml_error *error) {
    for (int32_t i = 0; i < n_bound; i++)
        if (ml_row_of(plan->graph, rows, 0, bound[i].tensor)->storage != ML_STORAGE_BOUND) {
            ml_error_set(error, ML_BINDING_ERROR,
                         ML_FIRST " cannot be bound: its value is known while planning");
            return at_tensors(plan, error, bound[i].tensor, -1);
        }
    ml_status status = ML_OK;
    for (int32_t i = 0; i < n_bound && status == ML_OK; i++)
        status =
            check_bytes(plan, ml_row_of(plan->graph, rows, 0, bound[i].tensor), &bound[i], error);
    for (int32_t i = 0; i < n_bound && status == ML_OK; i++)
        for (int32_t k = i + 1; k < n_bound && status == ML_OK; k++)
            status = check_pair(plan, rows, &bound[i], &bound[k], error);
    return status;
}
