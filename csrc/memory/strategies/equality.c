/* equality.c -- shared objects: a record takes a free object only if it has exactly its size. O(k
 * n), k objects. */
#include "memory/strategies/shared_objects.h"
#include "memory/strategies.h"

ml_strategy_status ml_strategy_equality(ml_problem *problem) {
    ml_objects objects;
    ml_strategy_status status = ml_objects_start(&objects, problem);
    if (status != ML_STRATEGY_OK) return status;
    ml_objects_order_by_first(&objects);
    for (int32_t i = 0; i < objects.waiting; i++) {
        int32_t record = objects.order[i], first = problem->records[record].first, o = 0;
        while (o < objects.count &&
               (objects.object_size[o] != objects.size[record] || objects.object_last[o] >= first))
            o++;
        ml_objects_assign(&objects, record, o < objects.count ? o : -1);
    }
    return ml_objects_finish(&objects);
}
