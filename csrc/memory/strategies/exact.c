/* exact.c -- finds the smallest arena, or proves that a capacity is too small.
 *
 * The problem is cut into pieces that are live at different times, and time into sections
 * (exact_pieces.c). For each piece the question is: is there a plan within this capacity?
 * (exact_search.c.) With problem->capacity it is asked once. Without, the lower bound is tried
 * first, since it is mostly the optimum; then capacities between it and the best plan, by halving,
 * with growing effort.
 *
 * Ideas: solutions in canonical form (offsets never fall), inference on the bytes a section still
 * needs, a floor that only rises, dominance of blocks that fit below others, no alternatives for a
 * block with nothing above it, splitting where no unplaced record crosses, several orders in turn
 * with growing node limits. Cost: exponential at worst, bounded by max_nodes and max_seconds. When
 * the budget is used up, the default strategy's plan is returned. Source: the ideas of MiniMalloc
 * (Moffitt, ASPLOS 2023). Does not support fixed records. */
#include "memory/strategies/exact.h"

#include <stdlib.h>

#include "core/shape.h"
#include "memory/strategies.h"

enum {
    /* For more records the search would need too much memory: only the default strategy runs. */
    MOST_RECORDS = 4096,
    FIRST_SLICE = 50000 /* search nodes per capacity at first, when looking for the smallest */
};

/* Tries one capacity with at most `slice` search nodes (0: all that are left), and stores what the
 * answer tells. */
static ml_search_status ask(ml_exact *e, int64_t capacity, int64_t slice) {
    int64_t all = e->problem->max_nodes, end = e->budget.nodes + slice;
    e->budget.max_nodes = slice > 0 && (all == 0 || end < all) ? end : all;
    ml_search_status status = ml_exact_decide(e, capacity);
    if (status == ML_SEARCH_FOUND) e->top = ml_exact_take(e, e->best);
    if (status == ML_SEARCH_NONE && capacity >= e->low) e->low = capacity + e->problem->alignment;
    return status;
}

static bool spent(const ml_exact *e) {
    const ml_problem *p = e->problem;
    return (p->max_nodes > 0 && e->budget.nodes >= p->max_nodes) ||
           (e->budget.end > 0 && ml_cpu_seconds() >= e->budget.end);
}

/* Narrows [low, top] until they meet or the budget is spent: first tries the lower bound, then
 * halves. A capacity that the slice cannot decide counts as too small; later it is tried again with
 * a larger slice. False without memory. */
static bool minimize(ml_exact *e) {
    int64_t a = e->problem->alignment;
    for (int64_t slice = FIRST_SLICE; e->top > e->low && !spent(e); slice *= 4) {
        int64_t from = e->low, capacity = e->low;
        while (from < e->top && e->top > e->low && !spent(e)) {
            ml_search_status status = ask(e, capacity, slice);
            if (status == ML_SEARCH_NO_MEMORY) return false;
            if (status != ML_SEARCH_FOUND) from = capacity + a;
            if (from < e->low) from = e->low;
            if (e->top - from < e->top / 256) break;
            capacity = from + (((e->top - from) / 2) & -a);
        }
    }
    return true;
}

static ml_strategy_status search_capacities(ml_exact *e) {
    ml_problem *p = e->problem;
    if (p->capacity > 0) {
        if (e->top <= p->capacity) return ML_STRATEGY_OK;
        ml_search_status status = ask(e, p->capacity & -(int64_t)p->alignment, 0);
        if (status == ML_SEARCH_NO_MEMORY) return ML_STRATEGY_NO_MEMORY;
        return status == ML_SEARCH_NONE ? ML_STRATEGY_OVER_CAPACITY : ML_STRATEGY_OK;
    }
    if (!minimize(e)) return ML_STRATEGY_NO_MEMORY;
    if (e->top <= e->low) p->proved_optimal = 1;
    return ML_STRATEGY_OK;
}

/* Starts from the default strategy's plan. On failure the records stay unplaced. */
static ml_strategy_status run(ml_exact *e) {
    ml_problem *p = e->problem;
    ml_strategy_status status = ml_strategy_default(p);
    if (status != ML_STRATEGY_OK) return status;
    p->lower_bound = ml_memory_lower_bound(p);
    for (int32_t i = 0; i < p->count; i++) {
        const ml_record *r = &p->records[i];
        e->best[i] = r->offset;
        int64_t end = ml_round_up(r->offset + r->size, p->alignment);
        if (r->size > 0 && end > e->top) e->top = end;
        p->records[i].offset = ML_UNPLACED;
    }
    e->low = p->lower_bound;
    if (p->capacity > 0 && p->capacity < e->low) return ML_STRATEGY_OVER_CAPACITY;
    if (e->top > e->low && p->count <= MOST_RECORDS)
        status = ml_exact_open(e) ? search_capacities(e) : ML_STRATEGY_NO_MEMORY;
    for (int32_t i = 0; status == ML_STRATEGY_OK && i < p->count; i++)
        p->records[i].offset = e->best[i];
    if (status == ML_STRATEGY_OK) {
        p->arena_bytes = e->top;
        p->proved_optimal = e->top <= e->low;
    }
    p->searched = e->budget.nodes;
    return status;
}

ml_strategy_status ml_strategy_exact(ml_problem *problem) {
    for (int32_t i = 0; i < problem->count; i++)
        if (problem->records[i].offset != ML_UNPLACED) return ML_STRATEGY_UNSUPPORTED;
    ml_exact e = {.problem = problem};
    if (problem->max_seconds > 0) e.budget.end = ml_cpu_seconds() + problem->max_seconds;
    e.best = malloc(((size_t)problem->count + 1) * sizeof *e.best);
    if (!e.best) return ML_STRATEGY_NO_MEMORY;
    ml_strategy_status status = run(&e);
    free(e.best);
    free(e.blocks);
    return status;
}
