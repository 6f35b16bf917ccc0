/* exact.c -- the exact planner: sections, static orders, and the search for the least capacity. */
#include "exact.h"

#include <stdlib.h>
#include <string.h>

#include "place.h"
#include "strategies.h"

enum { FIRST_ROUND_NODES = 20000, ORDERS = 3 };

/* Sections ----------------------------------------------------------------------------------------------------------- */

typedef struct moment {
    int64_t when;
    int32_t item;
    int32_t ends;
} moment;

static int by_time(const void *a, const void *b) {
    const moment *x = a, *y = b;
    if (x->when != y->when) return x->when < y->when ? -1 : 1;
    return x->ends != y->ends ? x->ends - y->ends : x->item - y->item;
}

/* Numbers the maximal sets of items live at once: one for each run of starts that an end follows. */
static void number_sections(ml_exact *x, const ml_problem *p, moment *moments) {
    int32_t n = 0;
    for (int32_t i = 0; i < x->count; i++) {
        const ml_record *r = &p->records[x->items[i].record];
        moments[n++] = (moment){2 * (int64_t)r->first, i, 0};
        moments[n++] = (moment){2 * (int64_t)r->last + 1, i, 1};
    }
    qsort(moments, (size_t)n, sizeof *moments, by_time);
    int32_t section = 0;
    for (int32_t k = 0; k < n; k++) {
        if (!moments[k].ends) x->items[moments[k].item].start = section;
        else x->items[moments[k].item].stop = section;
        if (moments[k].ends && k + 1 < n && !moments[k + 1].ends) section++;
    }
    x->n_sections = x->count ? section + 1 : 0;
}

static bool list_members(ml_exact *x) {
    int64_t total = 0;
    for (int32_t i = 0; i < x->count; i++) total += x->items[i].stop - x->items[i].start + 1;
    x->members = malloc(((size_t)total + 1) * sizeof *x->members);
    x->member_start = calloc((size_t)x->n_sections + 2, sizeof *x->member_start);
    if (!x->members || !x->member_start) return false;
    for (int32_t i = 0; i < x->count; i++)
        for (int32_t s = x->items[i].start; s <= x->items[i].stop; s++) x->member_start[s + 1]++;
    for (int32_t s = 0; s < x->n_sections; s++) x->member_start[s + 1] += x->member_start[s];
    for (int32_t i = x->count - 1; i >= 0; i--)
        for (int32_t s = x->items[i].start; s <= x->items[i].stop; s++) x->members[--x->member_start[s + 1]] = i;
    memmove(x->member_start, x->member_start + 1, (size_t)x->n_sections * sizeof *x->member_start);
    x->member_start[x->n_sections] = (int32_t)total;
    return true;
}

/* Orders --------------------------------------------------------------------------------------------------------------- */

typedef struct traits {
    int64_t key[3];
    int32_t item;
    int32_t reserved;
} traits;

static int by_traits(const void *a, const void *b) {
    const traits *x = a, *y = b;
    for (int k = 0; k < 3; k++)
        if (x->key[k] != y->key[k]) return x->key[k] > y->key[k] ? -1 : 1;
    return x->item - y->item;
}

/* Ranks by lifespan W, area A and the fullest section T, in the order that number `which` names: WAT, TAW, TWA. */
static void rank_items(ml_exact *x, const ml_problem *p, int which, traits *rows) {
    static const char names[ORDERS][4] = {"WAT", "TAW", "TWA"};
    int64_t *sums = x->unplaced;
    memset(sums, 0, (size_t)x->n_sections * sizeof *sums);
    for (int32_t i = 0; i < x->count; i++)
        for (int32_t s = x->items[i].start; s <= x->items[i].stop; s++) sums[s] += x->items[i].size;
    for (int32_t i = 0; i < x->count; i++) {
        const ml_record *r = &p->records[x->items[i].record];
        int64_t life = (int64_t)r->last - r->first + 1, area, fullest = 0;
        if (__builtin_mul_overflow(life, x->items[i].size, &area)) area = INT64_MAX;
        for (int32_t s = x->items[i].start; s <= x->items[i].stop; s++)
            if (sums[s] > fullest) fullest = sums[s];
        for (int k = 0; k < 3; k++) rows[i].key[k] = names[which][k] == 'W' ? life : names[which][k] == 'A' ? area : fullest;
        rows[i].item = i;
    }
    qsort(rows, (size_t)x->count, sizeof *rows, by_traits);
    for (int32_t i = 0; i < x->count; i++) x->items[rows[i].item].rank = i;
}

/* Deciding ------------------------------------------------------------------------------------------------------------- */

typedef struct budget {
    int64_t nodes; /* left; INT64_MAX = no limit */
    double stop_at;
    int64_t used;
} budget;

static ml_verdict decide(ml_exact *x, const ml_problem *p, int64_t capacity, budget *left, traits *rows) {
    x->capacity = capacity;
    x->stop_at = left->stop_at;
    for (int64_t limit = FIRST_ROUND_NODES;; limit *= 2)
        for (int which = 0; which < ORDERS; which++) {
            rank_items(x, p, which, rows);
            x->nodes = 0;
            x->node_limit = limit < left->nodes ? limit : left->nodes;
            ml_verdict verdict = ml_exact_search(x);
            left->used += x->nodes;
            if (left->nodes != INT64_MAX) left->nodes -= x->nodes;
            if (verdict != ML_OUT_OF_BUDGET) return verdict;
            if (left->nodes <= 0 || (left->stop_at > 0 && ml_cpu_seconds() > left->stop_at)) return verdict;
        }
}

static int64_t common_divisor(const ml_exact *x) {
    int64_t divisor = 0;
    for (int32_t i = 0; i < x->count; i++)
        for (int64_t a = x->items[i].size, b = divisor; a;) {
            divisor = a;
            a = b % a;
            b = divisor;
        }
    return divisor > 0 ? divisor : 1;
}

static void take(const ml_exact *x, int64_t *best) {
    for (int32_t i = 0; i < x->count; i++) best[x->items[i].record] = x->items[i].offset;
}

/* Halves the range of capacities between what is known not to fit and what is known to; heights are sums of sizes, so
 * multiples of their common divisor are enough. */
static ml_plan_status minimize(ml_exact *x, ml_problem *p, int64_t height, int64_t *best, budget *left, traits *rows) {
    int64_t step = common_divisor(x), low = (p->lower_bound + step - 1) / step, high = height / step;
    bool proved = height <= p->lower_bound;
    int64_t try_next = low;
    while (!proved && low < high) {
        ml_verdict verdict = decide(x, p, try_next * step, left, rows);
        if (verdict == ML_OUT_OF_BUDGET) break;
        if (verdict == ML_FITS) {
            take(x, best);
            high = try_next;
        } else {
            low = try_next + 1;
        }
        try_next = low + (high - low) / 2;
    }
    p->proved_optimal = proved || low >= high;
    return ML_PLAN_OK;
}

static bool set_up(ml_exact *x, const ml_problem *p, traits **rows) {
    size_t n = (size_t)p->count + 1;
    memset(x, 0, sizeof *x);
    x->items = calloc(n, sizeof *x->items);
    *rows = malloc(n * sizeof **rows);
    moment *moments = malloc(2 * n * sizeof *moments);
    /* Depth d holds at most n - d list entries and as many choices; every item is raised at most once a level. */
    x->lists = malloc((n * n + 2 * n) * sizeof *x->lists);
    x->undo = malloc((n * n + 2 * n) * sizeof *x->undo);
    bool ready = x->items && *rows && moments && x->lists && x->undo;
    if (ready) {
        for (int32_t i = 0; i < p->count; i++)
            if (p->records[i].size > 0)
                x->items[x->count++] = (ml_exact_item){.size = ml_round_up(p->records[i].size, p->alignment), .record = i};
        number_sections(x, p, moments);
        size_t sections = (size_t)x->n_sections + 1;
        x->unplaced = calloc(sections, sizeof *x->unplaced);
        x->section_floor = calloc(sections, sizeof *x->section_floor);
        x->crossing = calloc(sections, sizeof *x->crossing);
        ready = x->unplaced && x->section_floor && x->crossing && list_members(x);
    }
    free(moments);
    return ready;
}

static void tear_down(ml_exact *x, traits *rows) {
    free(x->items);
    free(x->lists);
    free(x->undo);
    free(x->unplaced);
    free(x->section_floor);
    free(x->crossing);
    free(x->members);
    free(x->member_start);
    free(rows);
}

static ml_plan_status run_exact(ml_problem *p, ml_exact *x, traits *rows, int64_t *best) {
    budget left = {p->max_nodes > 0 ? p->max_nodes : INT64_MAX, p->max_seconds > 0 ? ml_cpu_seconds() + p->max_seconds : 0, 0};
    ml_plan_status status = ml_plan_default(p);
    if (status != ML_PLAN_OK) return status;
    p->lower_bound = ml_memory_lower_bound(p);
    int64_t height = p->arena_bytes, capacity = p->capacity;
    for (int32_t i = 0; i < p->count; i++) best[i] = p->records[i].offset;
    if (capacity > 0 && height > capacity) {
        ml_verdict verdict = p->lower_bound > capacity ? ML_DOES_NOT_FIT : decide(x, p, capacity, &left, rows);
        if (verdict == ML_FITS) take(x, best);
        status = verdict == ML_DOES_NOT_FIT ? ML_PLAN_OVER_CAPACITY : ML_PLAN_OK;
        p->proved_optimal = verdict == ML_FITS && p->lower_bound == capacity;
    } else if (capacity == 0) {
        status = minimize(x, p, height, best, &left, rows);
    } else {
        p->proved_optimal = height == p->lower_bound;
    }
    p->searched = left.used;
    p->arena_bytes = 0;
    for (int32_t i = 0; i < p->count; i++) {
        int64_t end = best[i] + ml_round_up(p->records[i].size, p->alignment);
        p->records[i].offset = best[i];
        if (end > p->arena_bytes) p->arena_bytes = end;
    }
    return status;
}

ml_plan_status ml_plan_exact(ml_problem *p) {
    for (int32_t i = 0; i < p->count; i++)
        if (p->records[i].offset != ML_UNPLACED) return ML_PLAN_UNSUPPORTED;
    if (p->count > 8192) return ml_plan_default(p); /* the search's stacks grow with the square */
    ml_exact exact;
    traits *rows = NULL;
    int64_t *best = malloc(((size_t)p->count + 1) * sizeof *best);
    bool ready = set_up(&exact, p, &rows) && best;
    ml_plan_status status = ready ? run_exact(p, &exact, rows, best) : ML_PLAN_NO_MEMORY;
    tear_down(&exact, rows);
    free(best);
    return status;
}
