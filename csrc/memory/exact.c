/* exact.c -- the optimum, or a proof that a capacity is too small.
 *
 * Cut the problem into pieces that share no time, and time into sections (exact.h). For each piece ask: is there a plan
 * within this capacity? (exact_search.c.) With problem->capacity that question is asked once; without, the lower bound is
 * tried first, since it mostly is the optimum, then capacities between it and the best plan, halving.
 *
 * Ideas: solutions in canonical form (offsets never fall), inference on the bytes a section still needs, a floor that only
 * rises, dominance of blocks that fit below others, no alternatives for what has nothing above it, splitting where no
 * unplaced record crosses, several orders in turn with growing node limits.
 * Cost: exponential at worst, bounded by max_nodes and max_seconds. Out of budget, the default planner's plan stands.
 * Source: the ideas of MiniMalloc (Moffitt, ASPLOS 2023). Takes no fixed records. */
#include "exact.h"

#include <stdlib.h>
#include <string.h>

#include "strategies.h"

enum { MOST_RECORDS = 4096 }; /* beyond, the stacks of the search would be too large: only the default planner runs */

typedef struct exact {
    ml_problem *problem;
    ml_block *blocks; /* by first node */
    int64_t *offsets; /* by record */
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
    int32_t *ends = malloc(3 * (size_t)n * sizeof *ends), *starts = ends + n, *section_of = starts + n;
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

/* Makes the sections of a piece start at 0, notes how many it has, and measures crowds. `live`: a cell a section. */
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
        if (p->records[i].last != ML_FOREVER && p->records[i].last > horizon) horizon = p->records[i].last;
        if (p->records[i].first > horizon) horizon = p->records[i].first;
    }
    for (int32_t i = 0; i < p->count; i++) {
        const ml_record *r = &p->records[i];
        int64_t last = r->last < horizon ? r->last : horizon;
        if (r->size == 0) continue;
        e->blocks[e->count++] =
            (ml_block){.size = (r->size + a - 1) & -a, .low = r->first, .record = i, .span = last - r->first + 1};
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

/* Takes the plan that was found; the records stay unplaced until the end of ml_plan_exact. */
static int64_t take_plan(const exact *e, int64_t *best) {
    int64_t top = 0;
    for (int32_t k = 0; k < e->count; k++) {
        int32_t i = e->blocks[k].record;
        best[i] = e->offsets[i];
        if (best[i] + e->blocks[k].size > top) top = best[i] + e->blocks[k].size;
    }
    return top;
}

/* Narrows [low, *top] until they meet, the budget is spent, or *top is within the capacity asked for. */
static ml_plan_status narrow(exact *e, int64_t *best, int64_t *top) {
    ml_problem *p = e->problem;
    int64_t low = p->lower_bound, goal = p->capacity > low ? p->capacity : low;
    int64_t ask = goal, a = p->alignment;
    ask &= -a;
    while (*top > low && *top > p->capacity) {
        ml_search_status status = decide(e, ask);
        if (status == ML_SEARCH_NO_MEMORY || status == ML_SEARCH_OUT_OF_BUDGET) return ML_PLAN_OK;
        if (status == ML_SEARCH_FOUND) {
            *top = take_plan(e, best);
        } else {
            if (p->capacity > 0) return ML_PLAN_OVER_CAPACITY;
            low = ask + a;
        }
        ask = low + ((*top - low) / 2 & -a);
    }
    if (*top <= low) p->proved_optimal = 1;
    return ML_PLAN_OK;
}

static ml_plan_status run(exact *e, int64_t *best) {
    ml_problem *p = e->problem;
    int64_t top = 0;
    ml_plan_status status = ml_plan_default(p);
    if (status != ML_PLAN_OK) return status;
    for (int32_t i = 0; i < p->count; i++) {
        const ml_record *r = &p->records[i];
        best[i] = r->offset;
        int64_t end = (r->offset + r->size + p->alignment - 1) & -(int64_t)p->alignment;
        if (r->size > 0 && end > top) top = end;
        p->records[i].offset = ML_UNPLACED;
    }
    if (p->capacity > 0 && p->capacity < p->lower_bound) return ML_PLAN_OVER_CAPACITY;
    if (top > p->lower_bound && p->count <= MOST_RECORDS) {
        if (!open_exact(e)) return ML_PLAN_NO_MEMORY;
        status = narrow(e, best, &top);
    }
    for (int32_t i = 0; status == ML_PLAN_OK && i < p->count; i++) p->records[i].offset = best[i];
    if (status == ML_PLAN_OK) p->arena_bytes = top;
    p->searched = e->budget.nodes;
    return status;
}

ml_plan_status ml_plan_exact(ml_problem *problem) {
    for (int32_t i = 0; i < problem->count; i++)
        if (problem->records[i].offset != ML_UNPLACED) return ML_PLAN_UNSUPPORTED;
    exact e = {.problem = problem};
    e.budget.max_nodes = problem->max_nodes;
    if (problem->max_seconds > 0) e.budget.end = ml_cpu_seconds() + problem->max_seconds;
    int64_t *best = malloc(((size_t)problem->count + 1) * sizeof *best);
    if (!best) return ML_PLAN_NO_MEMORY;
    ml_plan_status status = run(&e, best);
    free(best);
    free(e.blocks);
    return status;
}
