/* planner.c -- ArenaPlanner without its buffers: lifetimes, sharing in place, allocation in steps.
 * (steps.c: what only callers outside the core ask of it.)
 *
 * Semantics are those of TFLite (arena_planner.cc), with Kelly's optimizations: contiguous arrays,
 * tensors grouped by allocating node, records of dead tensors purged, deallocation in one pass.
 * Options go further: inputs are freed, and a tensor's last reader may overwrite it. */
#include <stdlib.h>

#include "core/error.h"
#include "core/shape.h"
#include "memory/planner.h"

/* The budget of the exact search if it was chosen by name: about a CPU second. */
enum { EXACT_SEARCH_NODES = 2000000 };

/* Lists the operands that may be overwritten; without `to`, only counts them. */
static int32_t list_overwrites(const ml_planner_graph *graph, int32_t options, ml_overwrite *to) {
    int32_t count = 0;
    for (int32_t n = 0; n < graph->n_nodes; n++) {
        const ml_node_io *node = &graph->nodes[n];
        int32_t may = node->flags / ML_NODE_IN_PLACE;
        bool any_size = options & ML_SHARE_WIDE || node->flags & ML_NODE_VIEW;
        if (may == 0 || node->n_outputs == 0 || node->outputs[0] < 0) continue;
        for (int32_t i = 0; i < node->n_inputs && i < 8; i++) {
            if (!(may >> i & 1) || node->inputs[i] < 0) continue;
            if (to) to[count] = (ml_overwrite){node->inputs[i], node->outputs[0], any_size, false};
            count++;
        }
    }
    return count;
}

ml_planner *ml_planner_new(const ml_planner_graph *graph, const char *strategy, int32_t options,
                           int32_t alignment) {
    size_t count = (size_t)graph->n_tensors + (size_t)graph->n_nodes,
           nodes = (size_t)graph->n_nodes;
    int32_t overwrites = list_overwrites(graph, options, NULL);
    size_t total = sizeof(ml_planner) +
                   count * (6 * sizeof(int64_t) + sizeof(ml_record) + 9 * sizeof(int32_t) + 4) +
                   (nodes + 2) * sizeof(int32_t) + nodes +
                   (size_t)overwrites * sizeof(ml_overwrite) + 64;
    ml_planner *p = calloc(1, total);
    if (!p) return NULL;
    p->graph = graph;
    strncpy(p->strategy, strategy, sizeof p->strategy - 1);
    p->searches = strcmp(strategy, "default") == 0;
    p->options = options;
    p->alignment = alignment;
    p->count = (int32_t)count;
    p->bytes = (int64_t *)(p + 1);
    p->offset = p->bytes + count;
    p->placed = p->offset + count;
    p->fixed = p->placed + count;
    p->listing.sizes = p->fixed + count;
    p->listing.offsets = p->listing.sizes + count;
    p->records = (ml_record *)(p->listing.offsets + count);
    p->overwrites = (ml_overwrite *)(p->records + count);
    p->n_overwrites = list_overwrites(graph, options, p->overwrites);
    p->first = (int32_t *)(p->overwrites + overwrites);
    p->last = p->first + count;
    p->uses = p->last + count;
    p->root = p->uses + count;
    p->active = p->root + count;
    p->by_first = p->active + count;
    p->group = p->by_first + count;
    p->listing.tensors = p->group + nodes + 2;
    p->listing.by_last = p->listing.tensors + count;
    p->listing.record_of = p->listing.by_last + count;
    p->place = (uint8_t *)(p->listing.record_of + count);
    p->pinned = p->place + count;
    p->marked = p->pinned + count;
    p->edge = p->marked + count;
    p->skipped = p->edge + count;
    for (size_t t = 0; t < count; t++) p->offset[t] = p->fixed[t] = -1;
    p->last_active = p->purged = -1;
    p->bound = -1;
    return p;
}

ml_planner *ml_planner_copy(const ml_planner *from) {
    ml_planner *p = ml_planner_new(from->graph, from->strategy, from->options, from->alignment);
    if (!p) return NULL;
    memcpy(p->bytes, from->bytes, (size_t)p->count * sizeof *p->bytes);
    memcpy(p->place, from->place, (size_t)p->count);
    memcpy(p->pinned, from->pinned, (size_t)p->count);
    memcpy(p->skipped, from->skipped, (size_t)p->graph->n_nodes);
    memcpy(p->fixed, from->fixed, (size_t)p->count * sizeof *p->fixed);
    p->n_fixed = from->n_fixed;
    return p;
}

void ml_planner_fix(ml_planner *p, int32_t tensor, int64_t offset) {
    p->n_fixed += (offset >= 0) - (p->fixed[tensor] >= 0);
    p->fixed[tensor] = offset;
}

void ml_planner_use_order(ml_planner *p, ml_placing_order *order) { p->order = order; }
void ml_planner_search(ml_planner *p, bool longer, int64_t spent) {
    p->longer = longer;
    p->spent = spent;
}
int64_t ml_planner_spent(const ml_planner *p) { return p->spent; }
bool ml_planner_stood(const ml_planner *p) { return p->stood; }
void ml_planner_free(ml_planner *p) {
    if (p) ml_conflicts_free(&p->listing.conflicts);
    free(p);
}
int64_t *ml_planner_bytes(ml_planner *p) { return p->bytes; }
uint8_t *ml_planner_places(ml_planner *p) { return p->place; }
uint8_t *ml_planner_skipped(ml_planner *p) { return p->skipped; }
uint8_t *ml_planner_pinned(ml_planner *p) { return p->pinned; }
const int64_t *ml_planner_offsets(const ml_planner *p) { return p->offset; }
const int64_t *ml_planner_placed(const ml_planner *p) { return p->placed; }
const int32_t *ml_planner_roots(const ml_planner *p) { return p->root; }
const int32_t *ml_planner_first_nodes(const ml_planner *p) { return p->first; }
const int32_t *ml_planner_last_nodes(const ml_planner *p) { return p->last; }
int32_t ml_planner_active(const ml_planner *p) { return p->n_active; }

int64_t ml_planner_high_water(const ml_planner *p, int32_t place) {
    int64_t bytes = place == ML_PLACE_PERSISTENT ? p->persistent : p->high_water;
    return (bytes + p->alignment - 1) / p->alignment * p->alignment;
}

void ml_planner_plan_allocations(ml_planner *p) {
    ml_planner_reset_allocations(p);
    ml_planner_find_lifetimes(p);
    p->resized = false;
    p->bound = -1;
}

void ml_planner_start_anew(ml_planner *p) {
    memset(p->placed, 0, (size_t)p->count * sizeof *p->placed);
    p->persistent = 0;
    ml_planner_reset_allocations(p);
}

void ml_planner_reset_allocations(ml_planner *p) {
    for (int32_t t = 0; t < p->count; t++)
        if (p->place[t] != ML_PLACE_PERSISTENT || p->placed[t] == 0) {
            p->offset[t] = -1;
            p->placed[t] = 0;
        }
    p->n_active = 0;
    p->high_water = 0;
    p->last_active = p->purged = -1;
}

void ml_planner_purge(ml_planner *p, int32_t node) {
    int32_t kept = 0;
    for (int32_t i = 0; i < p->n_active; i++)
        if (p->last[p->active[i]] >= node) p->active[kept++] = p->active[i];
    p->n_active = kept;
    if (node > p->purged) p->purged = node;
}

/* Tensors that were purged are live again where an earlier node is to be placed. */
static void recall_active(ml_planner *p) {
    p->n_active = 0;
    for (int32_t t = 0; t < p->count; t++)
        if (p->place[t] == ML_PLACE_ARENA && p->placed[t] > 0 && p->root[t] == t)
            p->active[p->n_active++] = t;
    p->purged = -1;
}

/* Persistent tensors lie one after the other and never move. */
ml_status ml_planner_place_persistent(ml_planner *p, int32_t t, ml_error *error) {
    if (p->placed[t] || p->bytes[t] == 0) return ML_OK;
    p->offset[t] = ml_planner_high_water(p, ML_PLACE_PERSISTENT);
    if (__builtin_add_overflow(p->offset[t], p->bytes[t], &p->persistent) ||
        p->persistent > INT64_MAX / 2)
        return ml_error_set(error, ML_ARENA_ERROR,
                            "persistent tensors add up to more bytes than an int64 counts");
    p->placed[t] = p->bytes[t];
    return ML_OK;
}

static ml_status fail_plan(const ml_planner *p, ml_strategy_status status, ml_error *error) {
    if (status == ML_STRATEGY_NO_MEMORY)
        return ml_error_set(error, ML_ARENA_ERROR,
                            "planning %d tensors: the system refused working memory", p->count);
    return ml_error_set(error, ML_ARENA_ERROR,
                        "the tensors' sizes add up to more bytes than an int64 counts");
}

/* Fixed candidates, records[from .. count), must not overlap records that are already placed. */
static ml_status check_fixed(const ml_planner *p, int32_t count, int32_t from, ml_error *error) {
    for (int32_t i = from; i < count; i++) {
        const ml_record *a = &p->records[i];
        if (a->offset == ML_UNPLACED) continue;
        for (int32_t k = 0; k < i; k++) {
            const ml_record *b = &p->records[k];
            bool inputs =
                p->edge[a->tensor] & p->edge[b->tensor] & 1; /* both are inputs, set before a
                                                               * run */
            bool apart = !inputs && (b->last < a->first || b->first > a->last);
            if (b->offset == ML_UNPLACED || apart) continue;
            if (b->offset >= a->offset + a->size || a->offset >= b->offset + b->size) continue;
            const ml_record *low = a->tensor < b->tensor ? a : b, *high = low == a ? b : a;
            ml_error_about(error, low->tensor, NULL);
            ml_error_about(error, high->tensor, NULL);
            return ml_error_set(error, ML_ARENA_ERROR,
                                ML_FIRST
                                " at offset %lld (%lld bytes) and " ML_SECOND
                                " at offset %lld (%lld bytes) are live at once and overlap",
                                (long long)low->offset, (long long)low->size,
                                (long long)high->offset, (long long)high->size);
        }
    }
    return ML_OK;
}

/* Lists the records that the order names first, then all others; returns how many the order named
 * (0 without an order). */
static int32_t order_records(const ml_planner *p, int32_t count, int32_t *order) {
    const int32_t *record_of = p->listing.record_of;
    int32_t hinted = 0;
    for (int32_t i = 0; i < p->order->count; i++)
        if (record_of[p->order->tensors[i]] >= 0) order[hinted++] = record_of[p->order->tensors[i]];
    if (hinted == 0 || hinted == count) return hinted;
    uint8_t *named = p->marked; /* free to use: while placing, no tensor is marked */
    for (int32_t i = 0; i < hinted; i++) named[order[i]] = 1;
    int32_t all = hinted;
    for (int32_t i = 0; i < count; i++)
        if (!named[i]) order[all++] = i;
    for (int32_t i = 0; i < count; i++) named[i] = 0;
    return all;
}

static void keep_order(const ml_planner *p, const int32_t *order, int32_t count) {
    p->order->count = count;
    for (int32_t i = 0; i < count; i++) p->order->tensors[i] = p->records[order[i]].tensor;
}

/* Places a whole graph that is planned repeatedly, with what is known about its records and a
 * budget for the search. A new size gets little, and the rest when it comes back; the first plan of
 * all gets more, because its order serves the others. */
static ml_strategy_status place_graph(ml_planner *p, ml_problem *problem) {
    int32_t count = problem->count;
    ml_hints hints = {.longer = p->longer};
    bool same = ml_planner_list(p, count);
    if (same) p->bound = ml_planner_listed_bound(p);
    if (same && p->listing.conflicts.count > 0) hints.conflicts = &p->listing.conflicts;
    hints.bound = ml_planner_lower_bound(p);
    hints.order = malloc(((size_t)count + 1) * sizeof *hints.order);
    if (!hints.order) return ML_STRATEGY_NO_MEMORY;
    hints.hinted = order_records(p, count, hints.order);
    int64_t little = (int64_t)count * ML_WORK_A_RECORD, given = little;
    if (p->longer) given = ML_WORK > little ? ML_WORK - little : 0;
    bool first = hints.hinted == 0 && !p->longer;
    hints.work = first ? -1 : given > p->spent ? given - p->spent : 0;
    int64_t had = hints.work;
    problem->hints = &hints;
    ml_strategy_status status = ml_memory_plan(p->strategy, problem);
    bool answered = status == ML_STRATEGY_OK && p->searches;
    if (answered) keep_order(p, hints.order, count);
    if (answered && !first) p->spent += had - hints.work;
    problem->hints = NULL;
    free(hints.order);
    return status;
}

/* Places the candidates, records[fixed .. count), around the active ones before them. */
static ml_status place_records(ml_planner *p, int32_t count, int32_t fixed, ml_error *error) {
    if (p->n_fixed > 0 && check_fixed(p, count, fixed, error) != ML_OK) return ML_ARENA_ERROR;
    ml_problem problem = {.records = p->records,
                          .count = count,
                          .alignment = p->alignment,
                          .max_nodes = EXACT_SEARCH_NODES};
    bool graph = p->order && fixed == 0;
    ml_strategy_status status =
        graph ? place_graph(p, &problem) : ml_memory_plan(p->strategy, &problem);
    if (status == ML_STRATEGY_UNSUPPORTED) /* some place nothing around what is placed already */
        status = ml_memory_plan("greedy_by_size", &problem);
    if (status != ML_STRATEGY_OK) return fail_plan(p, status, error);
    for (int32_t i = fixed; i < count; i++) {
        const ml_record *record = &p->records[i];
        p->offset[record->tensor] = record->offset;
        p->placed[record->tensor] = record->size;
        p->active[p->n_active++] = record->tensor;
        if (record->offset + record->size > p->high_water)
            p->high_water = record->offset + record->size;
    }
    return ML_OK;
}

static void follow_roots(ml_planner *p, int32_t from, int32_t to) {
    for (int32_t k = from; k < to; k++) {
        int32_t t = p->by_first[k], root = p->root[t];
        if (root == t) continue;
        p->offset[t] = p->offset[root];
        p->placed[t] = p->bytes[t];
    }
}

static ml_status check_range(const ml_planner *p, int32_t first, int32_t last, ml_error *error) {
    const int32_t nodes = p->graph->n_nodes;
    if (!p->found)
        return ml_error_set(error, ML_NOT_READY,
                            "execute_allocations before plan_allocations: lifetimes are not known");
    /* In a graph without nodes, inputs are allocated at node 0. */
    if (nodes > 0 ? first <= last && first < nodes : first <= 0) return ML_OK;
    return ml_error_set(error, ML_BINDING_ERROR,
                        "nodes %d to %d, must be a range that begins before node %d: there are %d "
                        "nodes",
                        first, last, nodes > 0 ? nodes : 1, nodes);
}

ml_status ml_planner_execute_allocations(ml_planner *p, int32_t first, int32_t last,
                                         ml_error *error) {
    ml_status status = check_range(p, first, last, error);
    if (status != ML_OK) return status;
    int32_t nodes = p->graph->n_nodes;
    if (last > nodes - 1) last = nodes - 1;
    const int32_t end = last < 0 ? 0 : last;
    int32_t from = p->group[first < 0 ? 0 : first], to = p->group[end + 1];
    if (p->resized && (status = ml_planner_check_shares(p, from, to, error)) != ML_OK)
        return status;
    if (first < p->purged) recall_active(p);
    ml_planner_purge(p, first);
    int32_t count = 0;
    for (int32_t i = 0; i < p->n_active; i++) {
        int32_t t = p->active[i];
        if (p->placed[t] < p->bytes[t] && p->first[t] >= first && p->first[t] <= end) continue;
        p->records[count++] =
            (ml_record){p->placed[t], p->offset[t], p->first[t], p->last[t], t, 0};
    }
    int32_t fixed = count;
    for (int32_t k = from; k < to; k++) {
        int32_t t = p->by_first[k];
        if (p->place[t] == ML_PLACE_PERSISTENT) {
            status = ml_planner_place_persistent(p, t, error);
            if (status != ML_OK) return status;
        } else if (p->place[t] == ML_PLACE_ARENA && p->root[t] == t && p->placed[t] < p->bytes[t]) {
            p->records[count++] =
                (ml_record){p->bytes[t], p->fixed[t], p->first[t], p->last[t], t, 0};
        }
    }
    for (int32_t i = 0; i < fixed; i++) p->active[i] = p->records[i].tensor;
    p->n_active = fixed;
    if (count > fixed) status = place_records(p, count, fixed, error);
    if (status != ML_OK) p->purged = INT32_MAX; /* what grew is placed as before, but not active */
    if (status != ML_OK) return status;
    follow_roots(p, from, to);
    if (p->resized) ml_planner_drop_left_behind(p);
    if (last > p->last_active) p->last_active = last;
    return ML_OK;
}

int32_t ml_planner_records(const ml_planner *p, ml_record *records, int32_t room) {
    int32_t count = 0;
    for (int32_t t = 0; t < p->count; t++) {
        if (p->place[t] != ML_PLACE_ARENA || p->placed[t] == 0 || p->root[t] != t) continue;
        if (count < room)
            records[count] = (ml_record){p->placed[t], p->offset[t], p->first[t], p->last[t], t, 0};
        count++;
    }
    return count;
}
