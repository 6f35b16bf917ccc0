/* steps.c -- what only callers outside the core ask of a planner: graphs and sizes from anywhere,
 * and resets after some node. Every number is checked before it is used. (The engine plans checked
 * graphs, and never resets one in part.) */
#include <stdio.h>

#include "core/error.h"
#include "memory/planner.h"

enum { MOST_ALIGNMENT = 4096 }; /* arenas begin at pages, which are no smaller */

static bool are_tensors(const ml_planner_graph *graph, const int32_t *numbers, int32_t count,
                        const char *where, int32_t node, ml_error *error) {
    for (int32_t i = 0; i < count; i++) {
        if (numbers[i] >= -1 && numbers[i] < graph->n_tensors) continue;
        char name[32] = "the graph";
        if (node >= 0) snprintf(name, sizeof name, "node %d", node);
        ml_error_set(error, ML_BINDING_ERROR,
                     "%s has the %s tensor %d, must be -1 (absent) to %d: there are %d tensors",
                     name, where, numbers[i], graph->n_tensors - 1, graph->n_tensors);
        return false;
    }
    return true;
}

ml_status ml_planner_check(const ml_planner_graph *graph, int32_t alignment, ml_error *error) {
    if (alignment < 1 || alignment > MOST_ALIGNMENT || (alignment & (alignment - 1)) != 0)
        return ml_error_set(error, ML_BINDING_ERROR,
                            "alignment is %d, must be a power of two from 1 to %d", alignment,
                            MOST_ALIGNMENT);
    bool fits = are_tensors(graph, graph->inputs, graph->n_inputs, "input", -1, error) &&
                are_tensors(graph, graph->outputs, graph->n_outputs, "output", -1, error);
    for (int32_t n = 0; n < graph->n_nodes && fits; n++) {
        const ml_node_io *node = &graph->nodes[n];
        fits = are_tensors(graph, node->inputs, node->n_inputs, "input", n, error) &&
               are_tensors(graph, node->outputs, node->n_outputs, "output", n, error);
    }
    return fits ? ML_OK : ML_BINDING_ERROR;
}

ml_status ml_planner_set(ml_planner *p, int32_t tensor, int64_t bytes, int32_t place,
                         ml_error *error) {
    if (tensor < 0 || tensor >= p->count)
        return ml_error_set(error, ML_BINDING_ERROR,
                            "tensor %d does not exist: there are tensors 0 to %d, and scratch "
                            "memory of nodes up to %d",
                            tensor, p->graph->n_tensors - 1, p->count - 1);
    if (bytes < 0)
        return ml_error_set(error, ML_BINDING_ERROR, "tensor %d: %lld bytes, must be 0 or more",
                            tensor, (long long)bytes);
    if (place == ML_PLACE_PERSISTENT && p->placed[tensor] > 0 && bytes > p->placed[tensor])
        return ml_error_set(error, ML_BINDING_ERROR,
                            "tensor %d: %lld bytes, but it is a variable, whose place of %lld "
                            "bytes stays as it is",
                            tensor, (long long)bytes, (long long)p->placed[tensor]);
    p->bytes[tensor] = bytes;
    p->place[tensor] = (uint8_t)place;
    p->resized = true;
    p->bound = -1;
    return ML_OK;
}

int64_t ml_planner_checked_bound(ml_planner *p) {
    int64_t total = 0;
    for (int32_t t = 0; t < p->count; t++)
        if (p->bytes[t] > INT64_MAX / 2 ||
            __builtin_add_overflow(total, p->bytes[t] + p->alignment, &total))
            return INT64_MAX;
    return ml_planner_lower_bound(p);
}

/* Tensors that share a place need what its root has. Their sizes were equal when lifetimes were
 * found, but callers set sizes at any time. */
ml_status ml_planner_check_shares(const ml_planner *p, int32_t from, int32_t to, ml_error *error) {
    for (int32_t k = from; k < to; k++) {
        const int32_t t = p->by_first[k], root = p->root[t];
        if (root == t) continue;
        const bool placed_now =
            p->first[root] >= p->first[p->by_first[from]] && p->placed[root] < p->bytes[root];
        const int64_t has = placed_now ? p->bytes[root] : p->placed[root];
        if (has == 0 || p->bytes[t] <= has) continue; /* 0: it follows when its root is placed */
        return ml_error_set(error, ML_NOT_READY,
                            "tensor %d has %lld bytes and shares the place of tensor %d, which has "
                            "%lld: after a change of their sizes plan_allocations comes first",
                            t, (long long)p->bytes[t], root, (long long)has);
    }
    return ML_OK;
}

/* Those whose root has moved and that are not placed again now lose their place. */
void ml_planner_drop_left_behind(ml_planner *p) {
    for (int32_t t = 0; t < p->count; t++)
        if (p->root[t] != t && p->placed[t] > 0 && p->offset[t] != p->offset[p->root[t]]) {
            p->offset[t] = -1;
            p->placed[t] = 0;
        }
}

static ml_status check_node(const ml_planner *p, int32_t node, ml_error *error) {
    if (node >= -1 && node <= p->graph->n_nodes) return ML_OK;
    return ml_error_set(error, ML_BINDING_ERROR,
                        "node %d, must be -1 (before all nodes) to %d (after all nodes)", node,
                        p->graph->n_nodes);
}

ml_status ml_planner_purge_active(ml_planner *p, int32_t node, ml_error *error) {
    if (check_node(p, node, error) != ML_OK) return ML_BINDING_ERROR;
    ml_planner_purge(p, node);
    return ML_OK;
}

ml_status ml_planner_deallocate_after(ml_planner *p, int32_t node, ml_error *error) {
    if (check_node(p, node, error) != ML_OK) return ML_BINDING_ERROR;
    for (int32_t t = 0; t < p->count; t++)
        if (p->place[t] == ML_PLACE_ARENA && p->first[t] > node && p->placed[t] > 0)
            p->marked[t] = 1;
    p->last_active = node;
    return ML_OK;
}

void ml_planner_resolve_deallocations(ml_planner *p) {
    p->n_active = 0;
    for (int32_t t = 0; t < p->count; t++) {
        if (p->marked[t]) {
            p->marked[t] = 0;
            p->offset[t] = -1;
            p->placed[t] = 0;
        } else if (p->place[t] == ML_PLACE_ARENA && p->placed[t] > 0 && p->root[t] == t &&
                   p->last[t] >= p->last_active) {
            p->active[p->n_active++] = t;
        }
    }
    p->purged = p->last_active;
}

ml_status ml_planner_reset_allocations_after(ml_planner *p, int32_t node, ml_error *error) {
    if (ml_planner_deallocate_after(p, node, error) != ML_OK) return ML_BINDING_ERROR;
    ml_planner_resolve_deallocations(p);
    return ML_OK;
}
