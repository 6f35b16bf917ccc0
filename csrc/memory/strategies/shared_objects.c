/* shared_objects.c -- records, objects and their bookkeeping, for all shared-object strategies. */
#include "memory/strategies/shared_objects.h"

#include <stdlib.h>
#include <string.h>

#include "memory/place.h"

ml_strategy_status ml_objects_start(ml_objects *objects, ml_problem *problem) {
    ml_strategy_status status = ml_check_sizes(problem);
    if (status != ML_STRATEGY_OK) return status;
    for (int32_t i = 0; i < problem->count; i++)
        if (problem->records[i].offset != ML_UNPLACED) return ML_STRATEGY_UNSUPPORTED;
    size_t n = (size_t)problem->count + 1;
    char *block = malloc(n * (3 * sizeof(int64_t) + 3 * sizeof(int32_t) + 1));
    if (!block) return ML_STRATEGY_NO_MEMORY;
    *objects = (ml_objects){.problem = problem, .size = (int64_t *)block};
    objects->key = objects->size + n;
    objects->object_size = objects->key + n;
    objects->object_last = (int32_t *)(objects->object_size + n);
    objects->object = objects->object_last + n;
    objects->order = objects->object + n;
    objects->taken = (uint8_t *)(objects->order + n);
    for (int32_t i = 0; i < problem->count; i++) {
        objects->size[i] = ml_round_up(problem->records[i].size, problem->alignment);
        objects->object[i] = -1;
    }
    return ML_STRATEGY_OK;
}

void ml_objects_order_by_size(ml_objects *objects) {
    objects->waiting = ml_order_by(objects->problem, objects->size, objects->order);
}

void ml_objects_order_by_first(ml_objects *objects) {
    for (int32_t i = 0; i < objects->problem->count; i++)
        objects->key[i] = -(int64_t)objects->problem->records[i].first;
    objects->waiting = ml_order_by(objects->problem, objects->key, objects->order);
}

void ml_objects_mark_taken(ml_objects *objects, int32_t record) {
    const ml_record *records = objects->problem->records;
    memset(objects->taken, 0, (size_t)objects->count);
    for (int32_t i = 0; i < objects->problem->count; i++)
        if (objects->object[i] >= 0 && ml_records_meet(&records[i], &records[record]))
            objects->taken[objects->object[i]] = 1;
}

void ml_objects_assign(ml_objects *objects, int32_t record, int32_t object) {
    int32_t last = objects->problem->records[record].last;
    if (object < 0) {
        object = objects->count++;
        objects->object_size[object] = 0;
        objects->object_last[object] = last;
    }
    objects->object[record] = object;
    if (objects->size[record] > objects->object_size[object])
        objects->object_size[object] = objects->size[record];
    if (last > objects->object_last[object]) objects->object_last[object] = last;
}

ml_strategy_status ml_objects_finish(ml_objects *objects) {
    ml_problem *problem = objects->problem;
    int64_t top = 0;
    for (int32_t o = 0; o < objects->count; o++) {
        int64_t size = objects->object_size[o];
        objects->object_size[o] = top; /* from here on this is the object's offset */
        top += size;
    }
    for (int32_t i = 0; i < problem->count; i++)
        problem->records[i].offset =
            objects->object[i] < 0 ? 0 : objects->object_size[objects->object[i]];
    problem->arena_bytes = top;
    problem->searched = 1;
    return ml_objects_abandon(objects, ML_STRATEGY_OK);
}

ml_strategy_status ml_objects_abandon(ml_objects *objects, ml_strategy_status status) {
    free(objects->size);
    return status;
}
