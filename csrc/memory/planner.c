/* planner.c -- ArenaPlanner without its buffers: lifetimes, sharing in place, stepwise allocation, suffix resets.
 *
 * TFLite's semantics (arena_planner.cc), with Kelly's hot loop: contiguous arrays, tensors by allocating node, records of
 * dead tensors purged, deallocation in one pass. Options widen it: inputs freed, last consumers overwriting.
 */
#include <stdlib.h>

#include "core/error.h"
#include "core/shape.h"
#include "memory/problem.h"

/* What the exact search may spend: when a plan is improved, and when it was chosen by name (about a CPU second). */
enum { LONG_SEARCH_NODES = 20000, EXACT_SEARCH_NODES = 2000000 };

struct ml_planner {
    const ml_planner_graph *graph;
    char strategy[32];
    int32_t options;
    int32_t alignment;
    int32_t count; /* tensors and temporaries */
    int32_t last_active; /* the node up to which memory was planned, -1 = none */
    int32_t n_active;
    int32_t n_fixed; /* tensors with an offset of the caller's */
    int64_t high_water;
    int64_t persistent;
    int64_t *bytes;
    int64_t *offset;
    int64_t *fixed; /* the caller's offset, -1 = none */
    int64_t *placed; /* bytes at the time of placing, 0 = not placed */
    int32_t *first; /* -1 = never allocated */
    int32_t *last;
    int32_t *uses; /* input slots that read it, + 1 when kept */
    int32_t *root;
    int32_t *active; /* placed tensors that may be live at the node reached */
    int32_t *by_first; /* tensors grouped by the node that allocates them */
    int32_t *group; /* by_first[group[n] .. group[n + 1]) is node n's */
    ml_record *records;
    uint8_t *place;
    uint8_t *skipped;
    uint8_t *pinned;
    uint8_t *marked; /* waits for resolve_deallocations */
    uint8_t *edge; /* 1 = graph input, 2 = graph output */
};

ml_planner *ml_planner_new(const ml_planner_graph *graph, const char *strategy, int32_t options,
                           int32_t alignment) {
    size_t count = (size_t)graph->n_tensors + (size_t)graph->n_nodes,
           nodes = (size_t)graph->n_nodes;
    size_t total = sizeof(ml_planner) +
                   count * (4 * sizeof(int64_t) + sizeof(ml_record) + 6 * sizeof(int32_t) + 4) +
                   (nodes + 2) * sizeof(int32_t) + nodes + 64;
    ml_planner *p = calloc(1, total);
    if (!p) return NULL;
    p->graph = graph;
    strncpy(p->strategy, strategy, sizeof p->strategy - 1);
    p->options = options;
    p->alignment = alignment;
    p->count = (int32_t)count;
    p->bytes = (int64_t *)(p + 1);
    p->offset = p->bytes + count;
    p->placed = p->offset + count;
    p->fixed = p->placed + count;
    p->records = (ml_record *)(p->fixed + count);
    p->first = (int32_t *)(p->records + count);
    p->last = p->first + count;
    p->uses = p->last + count;
    p->root = p->uses + count;
    p->active = p->root + count;
    p->by_first = p->active + count;
    p->group = p->by_first + count;
    p->place = (uint8_t *)(p->group + nodes + 2);
    p->pinned = p->place + count;
    p->marked = p->pinned + count;
    p->edge = p->marked + count;
    p->skipped = p->edge + count;
    for (size_t t = 0; t < count; t++) p->offset[t] = p->fixed[t] = -1;
    p->last_active = -1;
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

void ml_planner_free(ml_planner *p) { free(p); }
int64_t *ml_planner_bytes(ml_planner *p) { return p->bytes; }
uint8_t *ml_planner_places(ml_planner *p) { return p->place; }
uint8_t *ml_planner_skipped(ml_planner *p) { return p->skipped; }
uint8_t *ml_planner_pinned(ml_planner *p) { return p->pinned; }
const int64_t *ml_planner_offsets(const ml_planner *p) { return p->offset; }
const int32_t *ml_planner_roots(const ml_planner *p) { return p->root; }
const int32_t *ml_planner_first_nodes(const ml_planner *p) { return p->first; }
const int32_t *ml_planner_last_nodes(const ml_planner *p) { return p->last; }
int32_t ml_planner_active(const ml_planner *p) { return p->n_active; }

int64_t ml_planner_high_water(const ml_planner *p, int32_t place) {
    int64_t bytes = place == ML_PLACE_PERSISTENT ? p->persistent : p->high_water;
    return (bytes + p->alignment - 1) / p->alignment * p->alignment;
}

/* Lifetimes: from the allocating node to the last reader; kept tensors and (in TFLite) unread ones live forever. */
static void find_lifetimes(ml_planner *p) {
    const ml_planner_graph *g = p->graph;
    for (int32_t t = 0; t < p->count; t++) {
        p->first[t] = p->last[t] = -1;
        p->uses[t] = 0;
        p->root[t] = t;
        p->edge[t] = 0;
    }
    for (int32_t i = 0; i < g->n_inputs; i++) {
        int32_t t = g->inputs[i];
        if (t < 0) continue;
        p->edge[t] |= 1;
        p->first[t] = 0;
        if ((p->options & ML_KEEP_INPUTS) && p->fixed[t] < 0) p->uses[t]++;
    }
    for (int32_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] >= 0) {
            p->edge[g->outputs[i]] |= 2;
            p->uses[g->outputs[i]]++;
        }
    for (int32_t n = 0; n < g->n_nodes; n++) {
        if (p->skipped[n]) continue;
        const ml_node_io *node = &g->nodes[n];
        for (int32_t i = 0; i < node->n_outputs; i++)
            if (node->outputs[i] >= 0 && p->first[node->outputs[i]] < 0)
                p->first[node->outputs[i]] = n;
        for (int32_t i = 0; i < node->n_inputs; i++)
            if (node->inputs[i] >= 0) {
                p->uses[node->inputs[i]]++;
                p->last[node->inputs[i]] = n;
            }
        p->first[g->n_tensors + n] = p->last[g->n_tensors + n] = n;
    }
    for (int32_t t = 0; t < g->n_tensors; t++)
        if (p->place[t] == ML_PLACE_PERSISTENT)
            p->first[t] = 0; /* variables are there before any node, written by one or not */
    bool free_unread = (p->options & ML_FREE_UNREAD) != 0;
    for (int32_t t = 0; t < g->n_tensors; t++) {
        bool fixed =
            p->fixed[t] >= 0; /* whoever fixed it counted on its bytes after its last reader */
        bool keep_input = (p->edge[t] & 1) && (p->options & ML_KEEP_INPUTS) && !fixed;
        bool kept = (p->edge[t] & 2) || keep_input || (p->options & ML_KEEP_ALL);
        if (kept || (p->last[t] < 0 && !free_unread && !fixed)) p->last[t] = ML_FOREVER;
        else if (p->last[t] < p->first[t]) p->last[t] = p->first[t];
    }
}

/* TFLite: the input dies here, is read once in all, and so is its root. Wide: this node is the last reader of the whole class. */
static bool may_overwrite(const ml_planner *p, int32_t n, int32_t input, int32_t output,
                          bool view) {
    int32_t root = p->root[input];
    if (p->place[input] != ML_PLACE_ARENA || p->place[output] != ML_PLACE_ARENA ||
        p->place[root] != ML_PLACE_ARENA)
        return false;
    if (p->edge[output] & 2 || p->bytes[input] != p->bytes[output]) return false;
    if (p->fixed[output] != p->fixed[root])
        return false; /* a longer life could meet another fixed tensor */
    if (p->edge[input] && ((p->options & ML_KEEP_INPUTS) || p->edge[input] & 2)) return false;
    if (p->edge[root] && ((p->options & ML_KEEP_INPUTS) || p->edge[root] & 2)) return false;
    if (view) return true;
    if (p->pinned[input] || p->pinned[output]) return false;
    if (p->options & ML_SHARE_WIDE) return p->last[root] <= n;
    return !p->edge[input] && p->bytes[input] > 4 && p->uses[input] <= 1 && p->uses[root] <= 1;
}

static void share_in_place(ml_planner *p) {
    const ml_planner_graph *g = p->graph;
    if (p->options & ML_KEEP_ALL || !(p->options & (ML_SHARE_TFLITE | ML_SHARE_WIDE))) return;
    for (int32_t n = 0; n < g->n_nodes; n++) {
        const ml_node_io *node = &g->nodes[n];
        bool view = node->flags & ML_NODE_VIEW;
        if (p->skipped[n] || node->n_outputs == 0 || node->outputs[0] < 0) continue;
        if (!(p->options & ML_SHARE_WIDE) && !(node->flags & ML_NODE_TFLITE_SHARES)) continue;
        for (int32_t i = 0; i < node->n_inputs && i < (p->options & ML_SHARE_WIDE ? 8 : 3); i++) {
            int32_t input = node->inputs[i], output = node->outputs[0];
            if (input < 0 || !(node->flags & (ML_NODE_IN_PLACE << i)) ||
                !may_overwrite(p, n, input, output, view))
                continue;
            int32_t root = p->root[input];
            p->root[output] = root;
            if (p->last[output] > p->last[root]) p->last[root] = p->last[output];
            if (!view) p->uses[root] = p->uses[output] > 1 ? p->uses[output] : 1;
            else p->uses[root] += p->uses[output] - 1;
            break;
        }
    }
}

static void group_by_first(ml_planner *p) {
    int32_t nodes = p->graph->n_nodes;
    memset(p->group, 0, (size_t)(nodes + 2) * sizeof p->group[0]);
    for (int32_t t = 0; t < p->count; t++)
        if (p->first[t] >= 0) p->group[p->first[t] + 1]++;
    for (int32_t n = 0; n <= nodes; n++) p->group[n + 1] += p->group[n];
    for (int32_t t = 0; t < p->count; t++)
        if (p->first[t] >= 0) p->by_first[p->group[p->first[t]]++] = t;
    for (int32_t n = nodes + 1; n > 0; n--) p->group[n] = p->group[n - 1];
    p->group[0] = 0;
}

void ml_planner_plan_allocations(ml_planner *p) {
    ml_planner_reset_allocations(p);
    find_lifetimes(p);
    share_in_place(p);
    group_by_first(p);
}

void ml_planner_reset_allocations(ml_planner *p) {
    for (int32_t t = 0; t < p->count; t++)
        if (p->place[t] != ML_PLACE_PERSISTENT || p->placed[t] == 0) {
            p->offset[t] = -1;
            p->placed[t] = 0;
        }
    p->n_active = 0;
    p->high_water = 0;
    p->last_active = -1;
}

void ml_planner_purge(ml_planner *p, int32_t node) {
    int32_t kept = 0;
    for (int32_t i = 0; i < p->n_active; i++)
        if (p->last[p->active[i]] >= node) p->active[kept++] = p->active[i];
    p->n_active = kept;
}

/* Persistent tensors: one after the other, never moved. */
static ml_status place_persistent(ml_planner *p, int32_t t, ml_error *error) {
    if (p->placed[t] || p->bytes[t] == 0) return ML_OK;
    p->offset[t] = ml_planner_high_water(p, ML_PLACE_PERSISTENT);
    if (__builtin_add_overflow(p->offset[t], p->bytes[t], &p->persistent) ||
        p->persistent > INT64_MAX / 2)
        return ml_error_set(error, ML_ARENA_ERROR,
                            "persistent tensors add up to more bytes than an int64 counts");
    p->placed[t] = p->bytes[t];
    return ML_OK;
}

static ml_status fail_plan(const ml_planner *p, ml_plan_status status, ml_error *error) {
    switch (status) {
    case ML_PLAN_NO_MEMORY:
        return ml_error_set(error, ML_ARENA_ERROR,
                            "planning %d tensors: the system gives no working memory", p->count);
    case ML_PLAN_OVERFLOW:
        return ml_error_set(error, ML_ARENA_ERROR,
                            "the tensors' sizes add up to more bytes than an int64 counts");
    case ML_PLAN_UNSUPPORTED:
        return ml_error_set(error, ML_ARENA_ERROR,
                            "strategy '%s' cannot plan around tensors that are already placed",
                            p->strategy);
    default:
        return ml_error_set(error, ML_ARENA_ERROR, "strategy '%s' failed with status %d",
                            p->strategy, (int)status);
    }
}

/* Fixed candidates, records[from .. count), must meet no record that has its place. */
static ml_status check_fixed(const ml_planner *p, int32_t count, int32_t from, ml_error *error) {
    for (int32_t i = from; i < count; i++) {
        const ml_record *a = &p->records[i];
        if (a->offset == ML_UNPLACED) continue;
        for (int32_t k = 0; k < i; k++) {
            const ml_record *b = &p->records[k];
            if (b->offset == ML_UNPLACED || b->last < a->first || b->first > a->last) continue;
            if (b->offset >= a->offset + a->size || a->offset >= b->offset + b->size) continue;
            const ml_record *low = a->tensor < b->tensor ? a : b, *high = low == a ? b : a;
            error->tensor = low->tensor;
            error->other = high->tensor;
            return ml_error_set(
                error, ML_ARENA_ERROR,
                "tensor %d at offset %lld (%lld bytes) and tensor %d at offset %lld (%lld bytes) are live at once and overlap",
                low->tensor, (long long)low->offset, (long long)low->size, high->tensor,
                (long long)high->offset, (long long)high->size);
        }
    }
    return ML_OK;
}

/* Places the candidates, records[fixed .. count), around the active ones before them. */
static ml_status place_records(ml_planner *p, int32_t count, int32_t fixed, ml_error *error) {
    if (p->n_fixed > 0 && check_fixed(p, count, fixed, error) != ML_OK) return ML_ARENA_ERROR;
    ml_problem problem = {.records = p->records, .count = count, .alignment = p->alignment};
    bool longer = p->options & ML_SEARCH_LONG;
    problem.max_nodes = longer ? LONG_SEARCH_NODES : EXACT_SEARCH_NODES;
    ml_plan_status status = ml_memory_plan(longer ? "exact" : p->strategy, &problem);
    if (status == ML_PLAN_UNSUPPORTED && (fixed > 0 || p->n_fixed > 0))
        status = ml_memory_plan("greedy_by_size", &problem);
    if (status != ML_PLAN_OK) return fail_plan(p, status, error);
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

ml_status ml_planner_execute_allocations(ml_planner *p, int32_t first, int32_t last,
                                         ml_error *error) {
    int32_t nodes = p->graph->n_nodes;
    if (last > nodes - 1) last = nodes - 1;
    /* A graph without nodes still allocates its inputs, at node 0. */
    int32_t from = p->group[first < 0 ? 0 : first], to = p->group[(last < 0 ? 0 : last) + 1];
    ml_planner_purge(p, first);
    int32_t count = 0;
    for (int32_t i = 0; i < p->n_active; i++) {
        int32_t t = p->active[i];
        if (p->placed[t] < p->bytes[t] && p->first[t] >= first) continue;
        p->records[count++] =
            (ml_record){p->placed[t], p->offset[t], p->first[t], p->last[t], t, 0};
    }
    int32_t fixed = count;
    for (int32_t k = from; k < to; k++) {
        int32_t t = p->by_first[k];
        if (p->place[t] == ML_PLACE_PERSISTENT) {
            ml_status status = place_persistent(p, t, error);
            if (status != ML_OK) return status;
        } else if (p->place[t] == ML_PLACE_ARENA && p->root[t] == t && p->placed[t] < p->bytes[t]) {
            p->records[count++] =
                (ml_record){p->bytes[t], p->fixed[t], p->first[t], p->last[t], t, 0};
        }
    }
    for (int32_t i = 0; i < fixed; i++) p->active[i] = p->records[i].tensor;
    p->n_active = fixed;
    ml_status status = count > fixed ? place_records(p, count, fixed, error) : ML_OK;
    if (status != ML_OK) return status;
    follow_roots(p, from, to);
    if (last > p->last_active) p->last_active = last;
    return ML_OK;
}

void ml_planner_deallocate_after(ml_planner *p, int32_t node) {
    for (int32_t t = 0; t < p->count; t++)
        if (p->place[t] == ML_PLACE_ARENA && p->first[t] > node && p->placed[t] > 0)
            p->marked[t] = 1;
    p->last_active = node;
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
}

void ml_planner_reset_allocations_after(ml_planner *p, int32_t node) {
    ml_planner_deallocate_after(p, node);
    ml_planner_resolve_deallocations(p);
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

/* The largest sum of rounded sizes live at once: a sweep over nodes with starts and ends counted in place. */
int64_t ml_planner_peaks(ml_planner *p, int32_t *peaks) {
    *peaks = 0;
    int64_t live = 0, most = 0, align = p->alignment;
    int32_t nodes = p->graph->n_nodes > 0 ? p->graph->n_nodes : 1;
    int64_t *ending = calloc((size_t)nodes + 1, sizeof *ending);
    if (!ending) return -1;
    for (int32_t n = 0; n < nodes; n++) {
        for (int32_t k = p->group[n]; k < p->group[n + 1]; k++) {
            int32_t t = p->by_first[k];
            if (p->place[t] != ML_PLACE_ARENA || p->root[t] != t) continue;
            int64_t size = (p->bytes[t] + align - 1) / align * align;
            live += size;
            if (p->last[t] < nodes) ending[p->last[t] + 1] += size;
        }
        live -= n > 0 ? ending[n] : 0;
        if (live > most) *peaks = 0;
        if (live >= most) {
            most = live;
            ++*peaks;
        }
    }
    free(ending);
    return most;
}

int64_t ml_planner_lower_bound(ml_planner *p) {
    int32_t peaks;
    return ml_planner_peaks(p, &peaks);
}
