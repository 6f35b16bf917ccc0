/* exact.c -- the optimum, or a proof that a capacity is too small.
 *
 * Cut the problem into pieces that share no time, and time into sections (exact.h). For each piece
 * ask: is there a plan within this capacity? (exact_search.c.) With problem->capacity that question
 * is asked once; without, the lower bound is tried first, since it mostly is the optimum, then
 * capacities between it and the best plan, halving, with growing effort.
 *
 * Ideas: solutions in canonical form (offsets never fall), inference on the bytes a section still
 * needs, a floor that only rises, dominance of blocks that fit below others, no alternatives for
 * what has nothing above it, splitting where no unplaced record crosses, several orders in turn
 * with growing node limits. Cost: exponential at worst, bounded by max_nodes and max_seconds. Out
 * of budget, the default planner's plan stands. Source: the ideas of MiniMalloc (Moffitt, ASPLOS
 * 2023). Takes no fixed records. */
#include "memory/strategies/exact.h"

#include <stdlib.h>
#include <string.h>

#include "memory/strategies.h"

enum {
    /* Beyond, the stacks of the search would be too large: only the default planner runs. */
    MOST_RECORDS = 4096,
    FIRST_SLICE = 50000 /* search nodes a capacity, to begin with, when looking for the smallest */
};

typedef struct exact {
    ml_problem *problem;
    ml_block *blocks; /* by first node */
    int64_t *offsets; /* by record: of the search */
    int64_t *best; /* by record: of the best plan so far */
    int64_t top, low; /* what that plan takes, and the least that is not proved to be too little */
    ml_budget budget;
    int32_t count;
} exact;

static int by_first(const void *x, const void *y) {
    const ml_block *a = x, *b = y;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    return (a->record > b->record) - (a->record < b->record);
}

static int by_number(const void *x, const void *y) {
    int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return (a > b) - (a < b);
}

/* Turns nodes into sections: a section ends when a record ends before another has started. */
static bool find_sections(exact *e) {
    const ml_record *records = e->problem->records;
    int32_t n = e->count;
    int32_t *ends = malloc(3 * (size_t)n * sizeof *ends), *starts = ends + n,
            *section_of = starts + n;
    if (!ends) return false;
    for (int32_t k = 0; k < n; k++) { /* blocks are by first node */
        ends[k] = records[e->blocks[k].record].last;
        starts[k] = records[e->blocks[k].record].first;
    }
    qsort(ends, (size_t)n, sizeof *ends, by_number);
    int32_t section = 0, ended = 0;
    bool open = false;
    for (int32_t k = 0; k < n; k++) {
        if (open && ends[ended] < starts[k]) section++;
        while (ends[ended] < starts[k]) ended++;
        section_of[k] = section;
        open = true;
    }
    for (int32_t k = 0; k < n; k++) {
        int32_t low = 0, high = n, last = records[e->blocks[k].record].last;
        while (low < high) { /* how many start no later than it ends */
            int32_t middle = (low + high) / 2;
            if (starts[middle] <= last) low = middle + 1;
            else high = middle;
        }
        e->blocks[k].low = section_of[k];
        e->blocks[k].high = section_of[low - 1];
    }
    free(ends);
    return true;
}

/* Makes the sections of a piece start at 0, notes how many it has, and measures crowds. `live`: a
 * cell a section. */
static void prepare_piece(ml_block *blocks, int32_t count, int64_t *live) {
    int32_t base = blocks[0].low, sections = 0;
    for (int32_t k = 0; k < count; k++) {
        blocks[k].low -= base;
        blocks[k].high -= base;
        if (blocks[k].high >= sections) sections = blocks[k].high + 1;
    }
    blocks[0].sections = sections;
    memset(live, 0, (size_t)sections * sizeof *live);
    for (int32_t k = 0; k < count; k++)
        for (int32_t i = blocks[k].low; i <= blocks[k].high; i++) live[i] += blocks[k].size;
    for (int32_t k = 0; k < count; k++)
        for (int32_t i = blocks[k].low; i <= blocks[k].high; i++)
            if (live[i] > blocks[k].crowd) blocks[k].crowd = live[i];
}

/* Cuts the problem where no record crosses from one section to the next. */
static bool find_pieces(exact *e) {
    int64_t *live = malloc(((size_t)e->count + 1) * sizeof *live);
    if (!live) return false;
    for (int32_t begin = 0, end; begin < e->count; begin = end) {
        int32_t high = e->blocks[begin].high;
        for (end = begin + 1; end < e->count && e->blocks[end].low <= high; end++)
            if (e->blocks[end].high > high) high = e->blocks[end].high;
        prepare_piece(e->blocks + begin, end - begin, live);
    }
    free(live);
    return true;
}

static bool open_exact(exact *e) {
    ml_problem *p = e->problem;
    size_t n = (size_t)p->count + 1;
    e->blocks = malloc(n * (sizeof *e->blocks + sizeof *e->offsets));
    if (!e->blocks) return false;
    e->offsets = (int64_t *)(void *)(e->blocks + n);
    int64_t a = p->alignment, horizon = 0;
    for (int32_t i = 0; i < p->count; i++) {
        if (p->records[i].last != ML_FOREVER && p->records[i].last > horizon)
            horizon = p->records[i].last;
        if (p->records[i].first > horizon) horizon = p->records[i].first;
    }
    for (int32_t i = 0; i < p->count; i++) {
        const ml_record *r = &p->records[i];
        int64_t last = r->last < horizon ? r->last : horizon;
        if (r->size == 0) continue;
        e->blocks[e->count++] = (ml_block){.size = (r->size + a - 1) & -a,
                                           .low = r->first,
                                           .record = i,
                                           .span = last - r->first + 1};
    }
    qsort(e->blocks, (size_t)e->count, sizeof *e->blocks, by_first);
    return find_sections(e) && find_pieces(e);
}

/* Is there a plan within `capacity`? Every piece must have one. */
static ml_search_status decide(exact *e, int64_t capacity) {
    ml_search_status status = ML_SEARCH_FOUND;
    for (int32_t begin = 0, end; status == ML_SEARCH_FOUND && begin < e->count; begin = end) {
        for (end = begin + 1; end < e->count && e->blocks[end].sections == 0; end++) continue;
        status = ml_search_piece(e->blocks + begin, end - begin, capacity, &e->budget, e->offsets);
    }
    return status;
}

/* Takes the plan that was found; the records stay unplaced until the end of ml_strategy_exact. */
static int64_t take_plan(const exact *e, int64_t *best) {
    int64_t top = 0;
    for (int32_t k = 0; k < e->count; k++) {
        int32_t i = e->blocks[k].record;
        best[i] = e->offsets[i];
        if (best[i] + e->blocks[k].size > top) top = best[i] + e->blocks[k].size;
    }
    return top;
}

/* Asks for one capacity with at most `slice` search nodes (0: all that is left) and notes what the
 * answer tells. */
static ml_search_status ask(exact *e, int64_t capacity, int64_t slice) {
    int64_t all = e->problem->max_nodes, end = e->budget.nodes + slice;
    e->budget.max_nodes = slice > 0 && (all == 0 || end < all) ? end : all;
    ml_search_status status = decide(e, capacity);
    if (status == ML_SEARCH_FOUND) e->top = take_plan(e, e->best);
    if (status == ML_SEARCH_NONE && capacity >= e->low) e->low = capacity + e->problem->alignment;
    return status;
}

static bool spent(const exact *e) {
    const ml_problem *p = e->problem;
    return (p->max_nodes > 0 && e->budget.nodes >= p->max_nodes) ||
           (e->budget.end > 0 && ml_cpu_seconds() >= e->budget.end);
}

/* Narrows [low, top] until they meet or the budget is spent: the lower bound first, then halving,
 * taking a question that the slice does not answer for a no; then again with larger slices. False:
 * no memory. */
static bool minimize(exact *e) {
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

static ml_strategy_status search(exact *e) {
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

/* Starts from the default planner's plan; the records stay unplaced unless all goes well. */
static ml_strategy_status run(exact *e) {
    ml_problem *p = e->problem;
    ml_strategy_status status = ml_strategy_default(p);
    if (status != ML_STRATEGY_OK) return status;
    p->lower_bound = ml_memory_lower_bound(p);
    for (int32_t i = 0; i < p->count; i++) {
        const ml_record *r = &p->records[i];
        e->best[i] = r->offset;
        int64_t end = (r->offset + r->size + p->alignment - 1) & -(int64_t)p->alignment;
        if (r->size > 0 && end > e->top) e->top = end;
        p->records[i].offset = ML_UNPLACED;
    }
    e->low = p->lower_bound;
    if (p->capacity > 0 && p->capacity < e->low) return ML_STRATEGY_OVER_CAPACITY;
    if (e->top > e->low && p->count <= MOST_RECORDS)
        status = open_exact(e) ? search(e) : ML_STRATEGY_NO_MEMORY;
    for (int32_t i = 0; status == ML_STRATEGY_OK && i < p->count; i++)
        p->records[i].offset = e->best[i];
    if (status == ML_STRATEGY_OK) {
        p->arena_bytes = e->top;
        p->proved_optimal = e->top <= e->low;
    }
    p->searched = e->budget.nodes;
    return status;
}

bool ml_exact_dive(const ml_problem *problem, int64_t capacity, int64_t max_nodes, int64_t *offsets,
                   int64_t *visited) {
    exact e = {.problem = (ml_problem *)(uintptr_t)problem}; /* which is only read */
    bool found = open_exact(&e);
    e.budget.max_nodes = max_nodes;
    e.budget.slice = e.count + e.count / 4;
    found = found && decide(&e, capacity) == ML_SEARCH_FOUND;
    if (found) take_plan(&e, offsets);
    *visited = e.budget.nodes;
    free(e.blocks);
    return found;
}

ml_strategy_status ml_strategy_exact(ml_problem *problem) {
    for (int32_t i = 0; i < problem->count; i++)
        if (problem->records[i].offset != ML_UNPLACED) return ML_STRATEGY_UNSUPPORTED;
    exact e = {.problem = problem};
    if (problem->max_seconds > 0) e.budget.end = ml_cpu_seconds() + problem->max_seconds;
    e.best = malloc(((size_t)problem->count + 1) * sizeof *e.best);
    if (!e.best) return ML_STRATEGY_NO_MEMORY;
    ml_strategy_status status = run(&e);
    free(e.best);
    free(e.blocks);
    return status;
}
