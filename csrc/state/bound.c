/* bound.c -- the caller's buffers that stand in for tensors of the main subgraph: which of them a plan can take.
 *
 * A bound tensor is no part of the arena and shares with no other, so no node writes into it but the one that computes it.
 * Buffers may overlap each other where their tensors are never live at once.
 */
#include <stdio.h>

#include "run/engine.h"

static ml_status refuse(const ml_plan *plan, ml_error *error, int32_t tensor, int32_t other) {
    error->subgraph = plan->graph->frames[0].subgraph;
    error->tensor = tensor;
    error->other = other;
    return error->status;
}

ml_status ml_mark_bound(ml_prepare_context *x) {
    const ml_planner_graph *io = &x->plan->graph->subgraphs[x->plan->graph->frames[0].subgraph].io;
    ml_tensor *tensors = ml_frame_tensors(x->plan, 0);
    for (int32_t i = 0; i < x->state->n_bound; i++) {
        int32_t t = x->state->bound[i].tensor;
        if (t < 0 || t >= io->n_tensors || !x->state->bound[i].data)
            return ml_error_set(x->error, ML_BINDING_ERROR,
                                "there is no tensor %d to bind, or no buffer", t);
        if (tensors[t].storage != ML_STORAGE_ARENA) {
            ml_error_set(x->error, ML_BINDING_ERROR, "tensor %d cannot be bound: it is %s", t,
                         tensors[t].storage == ML_STORAGE_CONSTANT ? "constant" : "a variable");
            return refuse(x->plan, x->error, t, -1);
        }
        tensors[t].storage = ML_STORAGE_BOUND;
    }
    x->plan->n_bound = x->state->n_bound;
    return ML_OK;
}

bool ml_same_bound(const ml_state *s, const ml_plan *plan) {
    if (plan->n_bound != s->n_bound) return false;
    const ml_tensor *tensors = ml_frame_tensors(plan, 0);
    int32_t count = plan->graph->subgraphs[plan->graph->frames[0].subgraph].io.n_tensors;
    for (int32_t i = 0; i < s->n_bound; i++) {
        int32_t t = s->bound[i].tensor;
        if (t < 0 || t >= count || tensors[t].storage != ML_STORAGE_BOUND) return false;
    }
    return true;
}

ml_status ml_check_bound_bytes(const ml_state *s, const ml_plan *plan, ml_error *error) {
    const ml_tensor *tensors = ml_frame_tensors(plan, 0);
    for (int32_t i = 0; i < s->n_bound; i++) {
        const ml_binding *b = &s->bound[i];
        if (tensors[b->tensor].bytes <= b->bytes) continue;
        error->needed = tensors[b->tensor].bytes;
        error->available = b->bytes;
        ml_error_set(error, ML_ARENA_ERROR,
                     "tensor %d needs %lld bytes, the buffer bound to it has %lld", b->tensor,
                     (long long)error->needed, (long long)b->bytes);
        return refuse(plan, error, b->tensor, -1);
    }
    return ML_OK;
}

/* Bytes a tensor may take in its buffer: all of it, as long as its shape is not settled. */
static int64_t extent(const ml_binding *b, const ml_tensor *tensor) {
    return tensor->dynamic ? b->bytes : tensor->bytes;
}

static bool overlap(const ml_binding *a, int64_t a_bytes, const ml_binding *b, int64_t b_bytes) {
    uintptr_t from = (uintptr_t)a->data, to = (uintptr_t)b->data;
    return from < to + (uintptr_t)b_bytes && to < from + (uintptr_t)a_bytes && a_bytes > 0 &&
           b_bytes > 0;
}

/* " at node 12", by the file's number; nothing for a graph without nodes. */
static const char *at_node(const ml_plan *plan, int32_t position, char text[32]) {
    const ml_subgraph *sub = &plan->graph->subgraphs[plan->graph->frames[0].subgraph];
    text[0] = 0;
    if (position >= 0 && position < sub->io.n_nodes)
        snprintf(text, 32, " at node %d", sub->nodes[position].index);
    return text;
}

ml_status ml_check_bound(const ml_state *s, const ml_plan *plan, ml_error *error) {
    const ml_tensor *tensors = ml_frame_tensors(plan, 0);
    const ml_planner *planner = plan->frames[0].planner;
    const int32_t *first = ml_planner_first_nodes(planner), *last = ml_planner_last_nodes(planner);
    for (int32_t i = 0; i < s->n_bound; i++)
        if (tensors[s->bound[i].tensor].storage != ML_STORAGE_BOUND) {
            ml_error_set(error, ML_BINDING_ERROR,
                         "tensor %d cannot be bound: its value is known while planning",
                         s->bound[i].tensor);
            return refuse(plan, error, s->bound[i].tensor, -1);
        }
    char text[32];
    ml_status status = ml_check_bound_bytes(s, plan, error);
    for (int32_t i = 0; i < s->n_bound && status == ML_OK; i++)
        for (int32_t k = i + 1; k < s->n_bound; k++) {
            const ml_binding *a = &s->bound[i], *b = &s->bound[k];
            int32_t ta = a->tensor, tb = b->tensor;
            if (first[ta] > last[tb] || first[tb] > last[ta]) continue;
            if (!overlap(a, extent(a, &tensors[ta]), b, extent(b, &tensors[tb]))) continue;
            ml_error_set(
                error, ML_BINDING_ERROR,
                "tensor %d and tensor %d are live at once%s, their buffers must not overlap", ta,
                tb, at_node(plan, first[ta] > first[tb] ? first[ta] : first[tb], text));
            return refuse(plan, error, ta, tb);
        }
    return status;
}
