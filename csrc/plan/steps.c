/* steps.c -- ArenaPlanner without its buffers: TFLite's calls, for graphs and sizes from anywhere,
 * placed in steps and reset after some node. Every number is checked before it is used. (Plans of
 * models have checked graphs, are placed whole, and are never reset in part.)
 *
 * Semantics are those of TFLite (arena_planner.cc), with Kelly's optimizations: contiguous arrays,
 * tensors grouped by allocating node, records of dead tensors purged, deallocation in one pass.
 * Options go further: inputs are freed, and a tensor's last reader may overwrite it. */
#include <stdio.h>

#include "core/error.h"
#include "plan/layout.h"

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

ml_status ml_planner_set(ml_planner *p, int32_t tensor, int64_t bytes, int32_t memory,
                         ml_error *error) {
    if (tensor < 0 || tensor >= p->schedule.count)
        return ml_error_set(error, ML_BINDING_ERROR,
                            "tensor %d does not exist: there are tensors 0 to %d, and scratch "
                            "memory of nodes up to %d",
                            tensor, p->schedule.graph->n_tensors - 1, p->schedule.count - 1);
    if (bytes < 0)
        return ml_error_set(error, ML_BINDING_ERROR, "tensor %d: %lld bytes, must be 0 or more",
                            tensor, (long long)bytes);
    if (memory == ML_MEMORY_PERSISTENT && p->placed[tensor] > 0 && bytes > p->placed[tensor])
        return ml_error_set(error, ML_BINDING_ERROR,
                            "tensor %d: %lld bytes, but it is a variable, whose place of %lld "
                            "bytes stays as it is",
                            tensor, (long long)bytes, (long long)p->placed[tensor]);
    p->usage.bytes[tensor] = bytes;
    p->usage.memory[tensor] = (uint8_t)memory;
    p->resized = true;
    p->bound = -1;
    return ML_OK;
}

int64_t ml_planner_checked_bound(ml_planner *p) {
    int64_t total = 0;
    for (int32_t t = 0; t < p->schedule.count; t++)
        if (p->usage.bytes[t] > INT64_MAX / 2 ||
            __builtin_add_overflow(total, p->usage.bytes[t] + p->alignment, &total))
            return INT64_MAX;
    return ml_layout_bound(p);
}

/* Tensors that share a place need what its root has. Their sizes were equal when lifetimes were
 * found, but callers set sizes at any time. */
static ml_status check_shares(const ml_planner *p, int32_t from, int32_t to, ml_error *error) {
    for (int32_t k = from; k < to; k++) {
        const int32_t t = p->schedule.by_first[k], root = p->schedule.root[t];
        if (root == t) continue;
        const bool placed_now =
            p->schedule.first[root] >= p->schedule.first[p->schedule.by_first[from]] &&
            p->placed[root] < p->usage.bytes[root];
        const int64_t has = placed_now ? p->usage.bytes[root] : p->placed[root];
        if (has == 0 || p->usage.bytes[t] <= has)
            continue; /* 0: it follows when its root is placed */
        return ml_error_set(error, ML_NOT_READY,
                            "tensor %d has %lld bytes and shares the place of tensor %d, which has "
                            "%lld: after a change of their sizes plan_allocations comes first",
                            t, (long long)p->usage.bytes[t], root, (long long)has);
    }
    return ML_OK;
}

/* Drops the places of tensors whose root has moved and that are not placed again now. */
static void drop_left_behind(ml_planner *p) {
    for (int32_t t = 0; t < p->schedule.count; t++)
        if (p->schedule.root[t] != t && p->placed[t] > 0 &&
            p->offset[t] != p->offset[p->schedule.root[t]]) {
            p->offset[t] = -1;
            p->placed[t] = 0;
        }
}

static ml_status check_range(const ml_planner *p, int32_t first, int32_t last, ml_error *error) {
    const int32_t nodes = p->schedule.graph->n_nodes;
    if (!p->found)
        return ml_error_set(error, ML_NOT_READY,
                            "execute_allocations before plan_allocations: lifetimes are not known");
    /* Inputs of a graph without nodes are allocated at node 0. */
    if (nodes > 0 ? first <= last && first < nodes : first <= 0) return ML_OK;
    return ml_error_set(error, ML_BINDING_ERROR,
                        "nodes %d to %d, must be a range that begins before node %d: there are %d "
                        "nodes",
                        first, last, nodes > 0 ? nodes : 1, nodes);
}

void ml_planner_reset_allocations(ml_planner *p) { ml_layout_reset(p); }

void ml_planner_plan_allocations(ml_planner *p) {
    ml_layout_reset(p);
    ml_schedule_find(&p->schedule, &p->usage);
    p->found = true;
    p->resized = false;
    p->bound = -1;
}

ml_status ml_planner_execute_allocations(ml_planner *p, int32_t first, int32_t last,
                                         ml_error *error) {
    ml_status status = check_range(p, first, last, error);
    if (status != ML_OK) return status;
    const int32_t most = p->schedule.graph->n_nodes - 1, *group = p->schedule.group;
    if (last > most) last = most;
    if (p->resized)
        status =
            check_shares(p, group[first < 0 ? 0 : first], group[(last < 0 ? 0 : last) + 1], error);
    if (status == ML_OK) status = ml_layout_nodes(p, first, last, error);
    if (status == ML_OK && p->resized) drop_left_behind(p);
    return status;
}

static ml_status check_node(const ml_planner *p, int32_t node, ml_error *error) {
    if (node >= -1 && node <= p->schedule.graph->n_nodes) return ML_OK;
    return ml_error_set(error, ML_BINDING_ERROR,
                        "node %d, must be -1 (before all nodes) to %d (after all nodes)", node,
                        p->schedule.graph->n_nodes);
}

ml_status ml_planner_purge_active(ml_planner *p, int32_t node, ml_error *error) {
    if (check_node(p, node, error) != ML_OK) return ML_BINDING_ERROR;
    ml_layout_purge(p, node);
    return ML_OK;
}

ml_status ml_planner_deallocate_after(ml_planner *p, int32_t node, ml_error *error) {
    if (check_node(p, node, error) != ML_OK) return ML_BINDING_ERROR;
    for (int32_t t = 0; t < p->schedule.count; t++)
        if (p->usage.memory[t] == ML_MEMORY_ARENA && p->schedule.first[t] > node &&
            p->placed[t] > 0)
            p->marked[t] = 1;
    p->last_active = node;
    return ML_OK;
}

void ml_planner_resolve_deallocations(ml_planner *p) {
    p->n_active = 0;
    for (int32_t t = 0; t < p->schedule.count; t++) {
        if (p->marked[t]) {
            p->marked[t] = 0;
            p->offset[t] = -1;
            p->placed[t] = 0;
        } else if (p->usage.memory[t] == ML_MEMORY_ARENA && p->placed[t] > 0 &&
                   p->schedule.root[t] == t && p->schedule.last[t] >= p->last_active) {
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
