/* greedy_in_order.c -- shared objects: in the order of first nodes, each record takes the free
 * object of the closest size. O(k n), k objects.
 *
 * An object that is too small grows, so the bytes it lacks count like the bytes that are left over
 * in one too large. If two are equally close, the larger one wins. A new object is made only if
 * none is free. */
#include "memory/strategies/shared_objects.h"
#include "memory/strategies.h"

ml_strategy_status ml_strategy_greedy_in_order(ml_problem *problem) {
    ml_objects objects;
    ml_strategy_status status = ml_objects_start(&objects, problem);
    if (status != ML_STRATEGY_OK) return status;
    ml_objects_order_by_first(&objects);
    for (int32_t i = 0; i < objects.waiting; i++) {
        int32_t record = objects.order[i], closest = -1;
        int64_t distance = INT64_MAX;
        for (int32_t o = 0; o < objects.count; o++) {
            if (objects.object_last[o] >= problem->records[record].first) continue;
            int64_t over = objects.object_size[o] - objects.size[record],
                    apart = over < 0 ? -over : over;
            bool wins_tie =
                apart == distance && objects.object_size[o] > objects.object_size[closest];
            if (apart >= distance && !wins_tie) continue;
            distance = apart;
            closest = o;
        }
        ml_objects_assign(&objects, record, closest);
    }
    return ml_objects_finish(&objects);
}
