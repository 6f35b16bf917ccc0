/* layout.c -- gives records their offsets, memory by memory: the only caller of strategies.
 *
 * In the arena, records that are live at once have places that do not overlap; a strategy finds
 * them. Persistent memory has one tensor after the other: they are placed once, never move, and
 * never end.
 *
 * A graph is placed whole, or in steps: then what is placed already and still live stays where it
 * is, and the rest is placed around it. */
#include "plan/layout.h"

#include <stdlib.h>

#include "core/error.h"
#include "plan/family.h"

/* The budget of the exact search if it was chosen by name: about a CPU second. */
enum { EXACT_SEARCH_NODES = 2000000 };

/* Whole graphs, and steps ---------------------------------------------------------------------- */

void ml_layout_start_anew(ml_planner *p) {
    memset(p->placed, 0, (size_t)p->schedule.count * sizeof *p->placed);
    p->high_water[ML_MEMORY_PERSISTENT] = 0;
    ml_layout_reset(p);
}

void ml_layout_reset(ml_planner *p) {
    for (int32_t t = 0; t < p->schedule.count; t++)
        if (p->usage.memory[t] != ML_MEMORY_PERSISTENT || p->placed[t] == 0) {
            p->offset[t] = -1;
            p->placed[t] = 0;
        }
    p->n_active = 0;
    p->high_water[ML_MEMORY_ARENA] = 0;
    p->last_active = p->purged = -1;
}

void ml_layout_purge(ml_planner *p, int32_t node) {
    int32_t kept = 0;
    for (int32_t i = 0; i < p->n_active; i++)
        if (p->schedule.last[p->active[i]] >= node) p->active[kept++] = p->active[i];
    p->n_active = kept;
    if (node > p->purged) p->purged = node;
}

/* Tensors that were purged are live again where an earlier node is to be placed. */
static void recall_active(ml_planner *p) {
    p->n_active = 0;
    for (int32_t t = 0; t < p->schedule.count; t++)
        if (p->usage.memory[t] == ML_MEMORY_ARENA && p->placed[t] > 0 && p->schedule.root[t] == t)
            p->active[p->n_active++] = t;
    p->purged = -1;
}

/* Persistent tensors lie one after the other and never move. */
static ml_status place_persistent(ml_planner *p, int32_t t, ml_error *error) {
    if (p->placed[t] || p->usage.bytes[t] == 0) return ML_OK;
    p->offset[t] = ml_planner_high_water(p, ML_MEMORY_PERSISTENT);
    if (__builtin_add_overflow(p->offset[t], p->usage.bytes[t],
                               &p->high_water[ML_MEMORY_PERSISTENT]) ||
        p->high_water[ML_MEMORY_PERSISTENT] > INT64_MAX / 2)
        return ml_error_set(error, ML_ARENA_ERROR,
                            "persistent tensors add up to more bytes than an int64 counts");
    p->placed[t] = p->usage.bytes[t];
    return ML_OK;
}

static ml_status fail_plan(const ml_planner *p, ml_strategy_status status, ml_error *error) {
    if (status == ML_STRATEGY_NO_MEMORY)
        return ml_error_set(error, ML_ARENA_ERROR,
                            "planning %d tensors: the system refused working memory",
                            p->schedule.count);
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
            /* Inputs are all set before a run. */
            bool inputs = p->schedule.edge[a->tensor] & p->schedule.edge[b->tensor] & 1;
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

/* Lists the records in the order of the plan before, which names all of them by now, or none;
 * returns how many. */
static int32_t order_records(const ml_planner *p, int32_t *order) {
    for (int32_t i = 0; i < p->order->count; i++)
        order[i] = p->listing.record_of[p->order->tensors[i]];
    return p->order->count;
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
    bool same = ml_family_list(p, count);
    const int32_t added = ml_family_renew_order(p);
    p->stacked = !same && added <= count / 16 && ml_family_stack_changed(p);
    if (p->stacked) return ML_STRATEGY_OK;
    if (same) p->bound = ml_family_bound(p);
    if (same && p->listing.conflicts.count > 0) hints.conflicts = &p->listing.conflicts;
    hints.bound = ml_layout_bound(p);
    hints.order = malloc(((size_t)count + 1) * sizeof *hints.order);
    if (!hints.order) return ML_STRATEGY_NO_MEMORY;
    hints.hinted = order_records(p, hints.order);
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
    if (p->usage.n_fixed > 0 && check_fixed(p, count, fixed, error) != ML_OK) return ML_ARENA_ERROR;
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
        if (record->offset + record->size > p->high_water[ML_MEMORY_ARENA])
            p->high_water[ML_MEMORY_ARENA] = record->offset + record->size;
    }
    return ML_OK;
}

static void follow_roots(ml_planner *p, int32_t from, int32_t to) {
    for (int32_t k = from; k < to; k++) {
        int32_t t = p->schedule.by_first[k], root = p->schedule.root[t];
        if (root == t) continue;
        p->offset[t] = p->offset[root];
        p->placed[t] = p->usage.bytes[t];
    }
}

/* True for a tensor or scratch that has no place yet; also for scratch that needs no bytes at this
 * size, if plans of other sizes follow (plan/records.c). */
static bool needs_place(const ml_planner *p, int32_t t) {
    bool no_bytes = p->order && p->usage.bytes[t] == 0 && t >= p->schedule.graph->n_tensors;
    return p->placed[t] < p->usage.bytes[t] || no_bytes;
}

/* The records of what nodes first .. end allocate, after those of what is placed already; *fixed
 * gets the number of the latter. */
static ml_status collect(ml_planner *p, int32_t first, int32_t end, int32_t *fixed, int32_t *count,
                         ml_error *error) {
    const ml_schedule *s = &p->schedule;
    const ml_tensor_usage *u = &p->usage;
    int32_t found = 0;
    for (int32_t i = 0; i < p->n_active; i++) {
        int32_t t = p->active[i];
        if (p->placed[t] < u->bytes[t] && s->first[t] >= first && s->first[t] <= end) continue;
        p->records[found++] = ml_record_of(p, t, p->placed[t], p->offset[t]);
    }
    *fixed = found;
    for (int32_t k = s->group[first < 0 ? 0 : first]; k < s->group[end + 1]; k++) {
        int32_t t = s->by_first[k];
        if (u->memory[t] == ML_MEMORY_PERSISTENT) {
            ml_status status = place_persistent(p, t, error);
            if (status != ML_OK) return status;
        } else if (u->memory[t] == ML_MEMORY_ARENA && s->root[t] == t && needs_place(p, t)) {
            p->records[found++] = ml_record_of(p, t, u->bytes[t], u->fixed[t]);
        }
    }
    *count = found;
    return ML_OK;
}

ml_status ml_layout_nodes(ml_planner *p, int32_t first, int32_t last, ml_error *error) {
    const ml_schedule *s = &p->schedule;
    const int32_t end = last < 0 ? 0 : last;
    int32_t fixed, count;
    if (first < p->purged) recall_active(p);
    ml_layout_purge(p, first);
    ml_status status = collect(p, first, end, &fixed, &count, error);
    if (status != ML_OK) return status;
    for (int32_t i = 0; i < fixed; i++) p->active[i] = p->records[i].tensor;
    p->n_active = fixed;
    if (count > fixed) status = place_records(p, count, fixed, error);
    if (status != ML_OK) p->purged = INT32_MAX; /* what grew is placed as before, but not active */
    if (status != ML_OK) return status;
    follow_roots(p, s->group[first < 0 ? 0 : first], s->group[end + 1]);
    if (last > p->last_active) p->last_active = last;
    return ML_OK;
}

ml_status ml_layout_variables(ml_planner *p, ml_error *error) {
    const ml_schedule *s = &p->schedule;
    ml_status status = ML_OK;
    p->high_water[ML_MEMORY_PERSISTENT] = 0;
    for (int32_t k = s->group[0]; k < s->group[1] && status == ML_OK; k++) {
        int32_t t = s->by_first[k];
        if (p->usage.memory[t] != ML_MEMORY_PERSISTENT) continue;
        p->placed[t] = 0;
        status = place_persistent(p, t, error);
    }
    return status;
}

int64_t ml_layout_bound(ml_planner *p) {
    int32_t peaks;
    if (p->bound < 0) p->bound = ml_records_bound(p, &peaks);
    return p->bound;
}
