/* shared_greedy.c -- shared objects, largest first or broadest node first, into the object that
 * fits best. */
#include <stdlib.h>

#include "memory/strategies/breadth.h"
#include "memory/strategies/shared_objects.h"
#include "memory/strategies.h"

/* Finds the smallest object that is not taken and holds `size`; else, if they may grow, the
 * largest. -1 = none. */
static int32_t best_object(const ml_objects *objects, int64_t size, bool may_grow) {
    int32_t enough = -1, largest = -1;
    for (int32_t o = 0; o < objects->count; o++) {
        if (objects->taken[o]) continue;
        int64_t has = objects->object_size[o];
        if (has >= size && (enough < 0 || has < objects->object_size[enough])) enough = o;
        if (largest < 0 || has > objects->object_size[largest]) largest = o;
    }
    return enough >= 0 || !may_grow ? enough : largest;
}

static void take_best(ml_objects *objects, int32_t record, bool may_grow) {
    ml_objects_mark_taken(objects, record);
    ml_objects_assign(objects, record, best_object(objects, objects->size[record], may_grow));
}

ml_strategy_status ml_strategy_shared_greedy_by_size(ml_problem *problem) {
    ml_objects objects;
    ml_strategy_status status = ml_objects_start(&objects, problem);
    if (status != ML_STRATEGY_OK) return status;
    ml_objects_order_by_size(&objects);
    for (int32_t i = 0; i < objects.waiting; i++) take_best(&objects, objects.order[i], false);
    return ml_objects_finish(&objects);
}

static int broader_first(const void *a, const void *b) {
    const ml_breadth *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

ml_strategy_status ml_strategy_shared_greedy_by_breadth(ml_problem *problem) {
    ml_objects objects;
    ml_strategy_status status = ml_objects_start(&objects, problem);
    if (status != ML_STRATEGY_OK) return status;
    ml_breadth *nodes = malloc(((size_t)problem->count + 1) * sizeof *nodes);
    int32_t n_nodes = nodes ? ml_breadths(problem, nodes) : -1;
    if (n_nodes < 0) {
        free(nodes);
        return ml_objects_abandon(&objects, ML_STRATEGY_NO_MEMORY);
    }
    qsort(nodes, (size_t)n_nodes, sizeof *nodes, broader_first);
    ml_objects_order_by_size(&objects);
    for (int32_t n = 0; n < n_nodes; n++)
        for (int32_t i = 0; i < objects.waiting; i++) {
            const ml_record *r = &problem->records[objects.order[i]];
            if (objects.object[objects.order[i]] >= 0 || r->first > nodes[n].node ||
                r->last < nodes[n].node)
                continue;
            take_best(&objects, objects.order[i], true);
        }
    free(nodes);
    return ml_objects_finish(&objects);
}
