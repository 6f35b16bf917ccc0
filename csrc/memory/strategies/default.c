/* default.c -- the default strategy: tries several orders until one meets the lower bound, then
 * searches, within a budget.
 *
 * It tries, in turn:
 *
 *   1. the order of a similar problem's plan from the bottom up, if there is one, each record on
 *      top of those below it;
 *   2. by size, by area (size x life);
 *   3. from the bottom up, the longest-lived first, which is mostly enough for wide graphs with
 *   many long-lived tensors; if an order was handed in, this comes before 2;
 *   4. a dive: the exact search for a plan at the bound, almost without backtracking (with more of
 *   it in a longer search);
 *   5. moves: a record goes before an earlier one, if the plan does not become larger.
 *
 * Of problems that go by a grid, the orders of wheel.c take the place of 2, 4 and 5.
 *
 * 2 and 5 place by best fit and by first fit. The budget is counted in looks at placed records, so
 * that the result is the same on any machine. If nothing before came within an eighth of the bound,
 * the order by size is tried even without budget. */
#include <stdlib.h>
#include <string.h>

#include "memory/strategies.h"
#include "memory/strategies/exact.h"
#include "memory/strategies/wheel.h"

enum {
    ORDER_MOVES = 200,
    MANY = 120, /* records */
    MOST_TO_DIVE = 1000, /* records: memory of the search is quadratic */
    /* If no budget is given: */
    WORK_OF_MANY = 750000,
    WORK_OF_VERY_MANY = 100000000 /* more than ML_MANY_RECORDS; about 0.3 s */
};

/* The best order so far, which is in passes->order, and how it was placed. */
typedef struct attempt {
    ml_passes passes;
    int64_t bound;
    int64_t height;
    int64_t searched;
    int64_t work; /* budget in looks, in all */
    ml_fit fit;
    bool stands; /* the order is the one handed in, from the bottom up */
    bool by_size; /* that order was tried */
} attempt;

/* True if sizes have changed so much that the order handed in is no longer useful. */
static bool astray(const attempt *a) { return a->height > a->bound + a->bound / 8; }

static bool wanting(const attempt *a) {
    bool obliged = a->searched == 0 || (!a->by_size && astray(a));
    return a->height > a->bound && (obliged || a->passes.looks < a->work);
}

static void keep(attempt *a, const int32_t *order, int64_t height) {
    a->height = height;
    ml_passes_keep(&a->passes, order);
    memcpy(a->passes.order, order, (size_t)a->passes.waiting * sizeof *order);
    a->stands &= a->searched == 0;
}

/* The first pass of all is always accepted. */
static void try_order(attempt *a, ml_fit from, ml_fit to) {
    for (int f = (int)from; f <= (int)to && wanting(a); f++, a->searched++) {
        int64_t tried = ml_passes_place(&a->passes, a->passes.trial, (ml_fit)f, a->height);
        if (tried >= a->height && a->searched > 0) continue;
        a->fit = (ml_fit)f;
        keep(a, a->passes.trial, tried);
    }
}

static int by_offset(const void *x, const void *y) {
    const ml_placed *a = x, *b = y;
    if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* Sorts the order from the bottom up, by the best offsets. */
static void sort_upwards(ml_passes *s) {
    for (int32_t i = 0; i < s->waiting; i++)
        s->room[i] = (ml_placed){.offset = s->best[s->order[i]], .first = s->order[i]};
    qsort(s->room, (size_t)s->waiting, sizeof *s->room, by_offset);
    for (int32_t i = 0; i < s->waiting; i++) s->order[i] = s->room[i].first;
}

/* Each search node costs three looks at every record not yet placed. */
static void dive(attempt *a, const ml_problem *p) {
    ml_passes *s = &a->passes;
    int64_t n = s->waiting, look = 3 * n / 2 + 1, nodes = (a->work - s->looks) / look, visited = 0;
    if (!wanting(a) || s->n_fixed > 0 || p->alignments) return;
    if (n > MOST_TO_DIVE || nodes < n) return;
    bool all = p->hints && p->hints->longer;
    if (ml_exact_dive(p, a->bound, nodes < 4 * n || all ? nodes : 4 * n, s->offset, &visited)) {
        memcpy(s->trial, s->order, (size_t)n * sizeof *s->trial);
        keep(a, s->trial, a->bound);
    }
    s->looks += visited * look;
    a->searched += visited;
}

typedef struct lifetime {
    int64_t nodes;
    int64_t size;
    int32_t record;
} lifetime;

static int by_life(const void *x, const void *y) {
    const lifetime *a = x, *b = y;
    if (a->nodes != b->nodes) return a->nodes > b->nodes ? -1 : 1;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    return (a->record > b->record) - (a->record < b->record);
}

static void rise(attempt *a, const ml_problem *p) {
    ml_passes *s = &a->passes;
    ml_conflicts own = {0};
    if (!wanting(a) || s->n_fixed > 0 || p->alignments) return;
    if (!s->conflicts) {
        ml_conflicts_find(&own, p->records, p->count);
        if (own.count == 0) return;
        s->conflicts = &own;
    }
    _Static_assert(sizeof(lifetime) <= sizeof *s->room, "lives lie where the heap will");
    lifetime *lives = (lifetime *)(void *)s->room;
    int32_t n = 0;
    for (int32_t i = 0; i < p->count; i++)
        if (p->records[i].size > 0)
            lives[n++] =
                (lifetime){(int64_t)p->records[i].last - p->records[i].first, s->size[i], i};
    qsort(lives, (size_t)n, sizeof *lives, by_life);
    for (int32_t i = 0; i < n; i++) s->trial[i] = lives[i].record;
    int64_t risen = ml_passes_rise(s, s->trial, a->height);
    a->searched++;
    if (risen < a->height) keep(a, s->trial, risen);
    if (own.count > 0) s->conflicts = NULL;
    ml_conflicts_free(&own);
}

/* Tries the order handed in, if it has every record to be placed. */
static void try_hint(attempt *a, const ml_problem *p) {
    int32_t waiting = 0;
    for (int32_t i = 0; p->hints && i < p->hints->hinted; i++) {
        const ml_record *r = &p->records[p->hints->order[i]];
        if (r->offset == ML_UNPLACED && r->size > 0)
            a->passes.trial[waiting++] = p->hints->order[i];
    }
    a->stands = waiting == a->passes.waiting && waiting > 0;
    if (!a->stands) return;
    try_order(a, ML_ON_TOP, ML_ON_TOP);
    if (astray(a)) return;
    rise(a, p);
    dive(a, p);
    try_order(a, ML_FIRST_FIT, ML_FIRST_FIT);
}

static void try_greedy(attempt *a, const ml_problem *p) {
    ml_passes *s = &a->passes;
    for (int area = 0; area < 2 && wanting(a); area++) {
        for (int32_t i = 0; i < p->count; i++) {
            int64_t life = (int64_t)p->records[i].last - p->records[i].first + 1;
            if (!area || __builtin_mul_overflow(s->size[i], life, &s->key[i]))
                s->key[i] = area ? INT64_MAX : s->size[i];
        }
        ml_order_by(p, s->key, s->trial);
        try_order(a, ML_BEST_FIT, ML_FIRST_FIT);
        a->by_size = true;
    }
}

/* Very many records are tried in other orders instead, which mean less work. */
static void try_wheel(attempt *a, const ml_problem *p) {
    if (!wanting(a)) return;
    ml_wheel wheel = {.bound = a->bound, .height = a->height, .work = a->work};
    if (p->max_seconds > 0) wheel.end = ml_cpu_seconds() + p->max_seconds;
    a->searched += ml_wheel_turn(&wheel, &a->passes);
    a->by_size = true;
    if (wheel.height >= a->height) return;
    a->height = wheel.height;
    a->fit = ML_FIRST_FIT;
    a->stands = false;
}

static int32_t draw(uint32_t *seed, int32_t below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (int32_t)((uint64_t)(*seed >> 8) * (uint64_t)below >> 24);
}

/* Proposes a change of the order that may lower the peak: the record that ends highest, or (every
 * other time) any record, goes before an earlier one. Deterministic: the generator starts from the
 * same seed for every problem. */
static void propose(ml_passes *s, uint32_t *seed, bool peak) {
    int32_t at = 1 + draw(seed, s->waiting - 1);
    int64_t top = -1;
    for (int32_t i = 1; peak && i < s->waiting; i++) {
        int64_t end = s->best[s->order[i]] + s->size[s->order[i]];
        if (end <= top) continue;
        top = end;
        at = i;
    }
    int32_t to = draw(seed, at), moved = s->order[at];
    memcpy(s->trial, s->order, (size_t)s->waiting * sizeof *s->order);
    memmove(s->trial + to + 1, s->trial + to, (size_t)(at - to) * sizeof *s->trial);
    s->trial[to] = moved;
}

/* Tries a move, and keeps it unless the plan becomes larger. */
static void move(attempt *a) {
    uint32_t seed = 1;
    if (a->fit == ML_ON_TOP) a->fit = ML_FIRST_FIT;
    for (int m = 0; m < ORDER_MOVES && wanting(a) && a->passes.waiting > 1; m++, a->searched++) {
        propose(&a->passes, &seed, m % 2 == 0);
        int64_t tried = ml_passes_place(&a->passes, a->passes.trial, a->fit, a->height + 1);
        if (tried <= a->height) keep(a, a->passes.trial, tried);
    }
}

/* Hands back the order of this plan, with records of 0 bytes last. The order that was handed in
 * stays if it gave the plan, or if no plan met the bound. */
static void hand_back(attempt *a, const ml_problem *p) {
    ml_passes *s = &a->passes;
    int32_t n = 0;
    p->hints->work = a->work > s->looks ? a->work - s->looks : 0;
    if (p->hints->hinted > 0 && (a->stands || a->height > a->bound)) return;
    sort_upwards(s);
    memset(s->key, 0, (size_t)p->count * sizeof *s->key);
    for (int32_t i = 0; i < s->waiting; i++) {
        p->hints->order[n++] = s->order[i];
        s->key[s->order[i]] = 1;
    }
    for (int32_t i = 0; i < p->count; i++)
        if (!s->key[i]) p->hints->order[n++] = i;
}

ml_strategy_status ml_strategy_default(ml_problem *p) {
    ml_strategy_status status = ml_check_sizes(p);
    if (status != ML_STRATEGY_OK) return status;
    attempt a = {.height = INT64_MAX};
    if (!ml_passes_begin(&a.passes, p)) return ML_STRATEGY_NO_MEMORY;
    bool many = a.passes.waiting > MANY, very_many = ml_goes_by_grid(p);
    if (p->hints && p->hints->bound >= 0) a.bound = p->hints->bound;
    else a.bound = very_many ? ml_moments_peak(&a.passes.moments) : ml_memory_lower_bound(p);
    a.work = many ? WORK_OF_MANY : ML_WORK;
    if (very_many) a.work = WORK_OF_VERY_MANY;
    if (p->hints && p->hints->work >= 0) a.work = p->hints->work;
    if (a.passes.fixed_height > a.bound) a.bound = a.passes.fixed_height;
    try_hint(&a, p);
    if (very_many) try_wheel(&a, p);
    else try_greedy(&a, p);
    if (!p->hints || p->hints->hinted == 0) {
        rise(&a, p);
        dive(&a, p);
    }
    if (!very_many) move(&a);
    p->lower_bound = a.bound;
    p->proved_optimal = a.height == a.bound;
    if (p->hints) hand_back(&a, p);
    if (a.height == INT64_MAX) a.height = a.passes.fixed_height;
    return ml_passes_end(&a.passes, p, a.height, a.searched);
}
