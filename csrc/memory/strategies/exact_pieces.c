/* exact_pieces.c -- cuts a problem into pieces that are live at different times, and searches each
 * of them. */
#include <stdlib.h>
#include <string.h>

#include "core/shape.h"

#include "memory/strategies/exact.h"

static int compare_first(const void *x, const void *y) {
    const ml_block *a = x, *b = y;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    return (a->record > b->record) - (a->record < b->record);
}

static int by_number(const void *x, const void *y) {
    int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return (a > b) - (a < b);
}

/* Turns nodes into sections: a section ends when a record ends before another has started. */
static bool find_sections(ml_exact *e) {
    const ml_record *records = e->problem->records;
    int32_t n = e->count;
    int32_t *ends = malloc(3 * (size_t)n * sizeof *ends), *starts = ends + n,
            *section_of = starts + n;
    if (!ends) return false;
    for (int32_t k = 0; k < n; k++) { /* blocks are in the order of their first nodes */
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
        while (low < high) { /* count those that start no later than it ends */
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

/* Numbers the sections of a piece from 0, stores how many it has, and computes crowds. `live` has
 * one cell per section. */
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
static bool find_pieces(ml_exact *e) {
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

bool ml_exact_open(ml_exact *e) {
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
        e->blocks[e->count++] = (ml_block){.size = ml_round_up(r->size, a),
                                           .low = r->first,
                                           .record = i,
                                           .span = last - r->first + 1};
    }
    qsort(e->blocks, (size_t)e->count, sizeof *e->blocks, compare_first);
    return find_sections(e) && find_pieces(e);
}

ml_search_status ml_exact_decide(ml_exact *e, int64_t capacity) {
    ml_search_status status = ML_SEARCH_FOUND;
    for (int32_t begin = 0, end; status == ML_SEARCH_FOUND && begin < e->count; begin = end) {
        for (end = begin + 1; end < e->count && e->blocks[end].sections == 0; end++) continue;
        status = ml_search_piece(e->blocks + begin, end - begin, capacity, &e->budget, e->offsets);
    }
    return status;
}

int64_t ml_exact_take(const ml_exact *e, int64_t *best) {
    int64_t top = 0;
    for (int32_t k = 0; k < e->count; k++) {
        int32_t i = e->blocks[k].record;
        best[i] = e->offsets[i];
        if (best[i] + e->blocks[k].size > top) top = best[i] + e->blocks[k].size;
    }
    return top;
}

bool ml_exact_dive(const ml_problem *problem, int64_t capacity, int64_t max_nodes, int64_t *offsets,
                   int64_t *visited) {
    ml_exact e = {.problem = (ml_problem *)(uintptr_t)problem}; /* only read */
    bool found = ml_exact_open(&e);
    e.budget.max_nodes = max_nodes;
    e.budget.slice = e.count + e.count / 4;
    found = found && ml_exact_decide(&e, capacity) == ML_SEARCH_FOUND;
    if (found) ml_exact_take(&e, offsets);
    *visited = e.budget.nodes;
    free(e.blocks);
    return found;
}
