/* min_cost_flow.c -- shared objects as an assignment of least cost. O(n^3), and O(n^2) per exchange
 * of tails.
 *
 * Each record takes over the memory of one that ended before it began (cost: the bytes it lacks
 * there), or an object of its own (cost: its size); each record passes its memory on to at most one
 * other. That is a flow of unit capacities, and so an assignment of records to predecessors: it is
 * solved by shortest augmenting paths under potentials (Kuhn and Munkres; Jonker & Volgenant 1987).
 * Following the predecessors gives the chains that share an object. The cost counts a chain's
 * growth step by step, not its largest record, and many assignments cost the same. So at the end,
 * two chains exchange their tails as long as that reduces the sum of the two objects. */
#include <stdlib.h>

#include "memory/place.h"
#include "memory/strategies/shared_objects.h"
#include "memory/strategies.h"

enum { FRESH = -1, EXCHANGES = 1000 };

typedef struct assignment {
    const ml_objects *objects;
    int64_t *heir_price; /* potentials: of a record as one that needs memory */
    int64_t *giver_price; /* and as one that passes it on */
    int64_t *distance; /* by giver, in the current search */
    int32_t *heir; /* by giver: the record that takes over its memory, -1 = none */
    int32_t *giver; /* by heir: whose memory it takes, FRESH = its own */
    int32_t *came_from; /* by giver: the heir through which the search reached it */
    uint8_t *settled; /* by giver */
} assignment;

static int64_t cost(const ml_objects *objects, int32_t giver, int32_t heir) {
    int64_t lacks = objects->size[heir] - objects->size[giver];
    return lacks > 0 ? lacks : 0;
}

/* Relaxes the edges of `heir`, which lies at `base` from the start. */
static void reach(assignment *a, int32_t heir, int64_t base) {
    const ml_record *records = a->objects->problem->records;
    for (int32_t i = 0; i < a->objects->waiting; i++) {
        int32_t giver = a->objects->order[i];
        if (records[giver].last >= records[heir].first) break; /* `order` is by last node */
        if (a->settled[giver]) continue;
        int64_t way =
            base + cost(a->objects, giver, heir) - a->heir_price[heir] - a->giver_price[giver];
        if (way >= a->distance[giver]) continue;
        a->distance[giver] = way;
        a->came_from[giver] = heir;
    }
}

static int32_t closest(const assignment *a) {
    int32_t found = -1;
    for (int32_t i = 0; i < a->objects->waiting; i++) {
        int32_t giver = a->objects->order[i];
        if (a->settled[giver] || a->distance[giver] == INT64_MAX) continue;
        if (found < 0 || a->distance[giver] < a->distance[found]) found = giver;
    }
    return found;
}

/* Gives heir `start` a giver or new memory; reassigns others if that is cheaper in total. */
static void augment(assignment *a, int32_t start) {
    const ml_objects *objects = a->objects;
    for (int32_t i = 0; i < objects->problem->count; i++) {
        a->distance[i] = INT64_MAX;
        a->settled[i] = 0;
    }
    int32_t heir = start, fresh_heir = start, giver;
    int64_t base = 0, fresh = objects->size[start] - a->heir_price[start];
    for (;;) {
        reach(a, heir, base);
        giver = closest(a);
        if (giver < 0 || a->distance[giver] >= fresh) {
            giver = FRESH;
            break;
        }
        a->settled[giver] = 1;
        if (a->heir[giver] < 0) break;
        heir = a->heir[giver];
        base = a->distance[giver];
        int64_t way = base + objects->size[heir] - a->heir_price[heir];
        if (way < fresh) {
            fresh = way;
            fresh_heir = heir;
        }
    }
    int64_t length = giver == FRESH ? fresh : a->distance[giver];
    a->heir_price[start] += length;
    for (int32_t i = 0; i < objects->waiting; i++) {
        int32_t g = objects->order[i];
        if (!a->settled[g] || a->distance[g] > length) continue;
        a->giver_price[g] -= length - a->distance[g];
        if (a->heir[g] >= 0) a->heir_price[a->heir[g]] += length - a->distance[g];
    }
    heir = giver == FRESH ? fresh_heir : a->came_from[giver];
    for (;;) {
        int32_t before = a->giver[heir];
        a->giver[heir] = giver;
        if (giver != FRESH) a->heir[giver] = heir;
        if (heir == start) return;
        giver = before;
        heir = a->came_from[giver];
    }
}

/* Computes, for each record, the largest size in its chain up to it and from it on, both inclusive.
 * `order` is by first node. */
static void measure(const assignment *a, int64_t *before, int64_t *after) {
    const ml_objects *objects = a->objects;
    for (int32_t i = 0; i < objects->waiting; i++) {
        int32_t k = objects->order[i], giver = a->giver[k];
        before[k] =
            giver != FRESH && before[giver] > objects->size[k] ? before[giver] : objects->size[k];
    }
    for (int32_t i = objects->waiting; i-- > 0;) {
        int32_t k = objects->order[i], heir = a->heir[k];
        after[k] = heir >= 0 && after[heir] > objects->size[k] ? after[heir] : objects->size[k];
    }
}

/* Makes the first exchange of tails that saves memory; false if there is none. */
static bool exchange_tails(assignment *a, int64_t *before, int64_t *after) {
    const ml_objects *objects = a->objects;
    const ml_record *records = objects->problem->records;
    measure(a, before, after);
    for (int32_t i = 0; i < objects->waiting; i++) {
        int32_t x = objects->order[i], x_heir = a->heir[x];
        if (x_heir < 0) continue;
        for (int32_t j = 0; j < objects->waiting; j++) {
            int32_t y = objects->order[j], y_heir = a->heir[y];
            if (y == x || records[y].last >= records[x_heir].first) continue;
            if (y_heir >= 0 && records[x].last >= records[y_heir].first) continue;
            int64_t y_tail = y_heir >= 0 ? after[y_heir] : 0;
            int64_t now = ml_max_s64(before[x], after[x_heir]) + ml_max_s64(before[y], y_tail);
            if (ml_max_s64(before[x], y_tail) + ml_max_s64(before[y], after[x_heir]) >= now)
                continue;
            a->heir[x] = y_heir;
            a->heir[y] = x_heir;
            a->giver[x_heir] = y;
            if (y_heir >= 0) a->giver[y_heir] = x;
            return true;
        }
    }
    return false;
}

static void solve(assignment *a, ml_objects *objects) {
    int32_t count = objects->problem->count;
    for (int32_t i = 0; i < count; i++) {
        a->heir_price[i] = a->giver_price[i] = 0;
        a->heir[i] = -1;
        a->giver[i] = FRESH;
        objects->key[i] = -(int64_t)objects->problem->records[i].last;
    }
    objects->waiting = ml_order_by(objects->problem, objects->key, objects->order);
    for (int32_t i = 0; i < objects->waiting; i++) augment(a, objects->order[i]);
    ml_objects_order_by_first(objects); /* so a giver comes before its heir */
    for (int32_t left = EXCHANGES; left > 0 && exchange_tails(a, a->heir_price, a->giver_price);)
        left--;
    for (int32_t i = 0; i < objects->waiting; i++) {
        int32_t record = objects->order[i], giver = a->giver[record];
        ml_objects_assign(objects, record, giver == FRESH ? -1 : objects->object[giver]);
    }
}

ml_strategy_status ml_strategy_min_cost_flow(ml_problem *problem) {
    ml_objects objects;
    ml_strategy_status status = ml_objects_start(&objects, problem);
    if (status != ML_STRATEGY_OK) return status;
    size_t n = (size_t)problem->count + 1;
    int64_t *block = malloc(n * (3 * sizeof(int64_t) + 3 * sizeof(int32_t) + 1));
    if (!block) return ml_objects_abandon(&objects, ML_STRATEGY_NO_MEMORY);
    assignment a = {.objects = &objects,
                    .heir_price = block,
                    .giver_price = block + n,
                    .distance = block + 2 * n};
    a.heir = (int32_t *)(block + 3 * n);
    a.giver = a.heir + n;
    a.came_from = a.giver + n;
    a.settled = (uint8_t *)(a.came_from + n);
    solve(&a, &objects);
    free(block);
    return ml_objects_finish(&objects);
}
