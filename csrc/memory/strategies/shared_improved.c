/* shared_improved.c -- shared objects by size in stages; within a stage, the record that leaves the
 * shortest idle time.
 *
 * A stage is the range of sizes between two neighbouring positional maxima. Their order costs at
 * most the difference of those two, so the order may be chosen by time. A record's distance to an
 * object is the idle time between it and the closest record in the object; it is defined only if
 * the object is free for the record's whole lifetime. */
#include <stdlib.h>

#include "memory/strategies/breadth.h"
#include "memory/strategies/shared_objects.h"
#include "memory/strategies.h"

typedef struct nearest {
    int32_t object; /* the closest object it may join, -1 = none */
    int32_t distance;
    int32_t stage; /* the rightmost positional maximum that is not smaller than the record */
    int32_t reserved;
} nearest;

/* Writes the positional maxima to `maxima`, which has `room` zeros; `objects->order` is by size.
 * O(n^2). */
static void find_maxima(const ml_objects *objects, const ml_breadth *nodes, int32_t n_nodes,
                        int64_t *maxima) {
    for (int32_t n = 0; n < n_nodes; n++) {
        int32_t position = 0;
        for (int32_t i = 0; i < objects->waiting; i++) {
            const ml_record *r = &objects->problem->records[objects->order[i]];
            if (r->first > nodes[n].node || r->last < nodes[n].node) continue;
            int64_t size = objects->size[objects->order[i]];
            if (size > maxima[position]) maxima[position] = size;
            position++;
        }
    }
}

static int32_t idle_between(const ml_record *a, const ml_record *b) {
    return a->last < b->first ? b->first - a->last : a->first - b->last;
}

/* Finds the object that is closest to a record. O(n). */
static void find_nearest(ml_objects *objects, int32_t record, nearest *found) {
    const ml_record *records = objects->problem->records;
    ml_objects_mark_taken(objects, record);
    found->object = -1;
    found->distance = INT32_MAX;
    for (int32_t i = 0; i < objects->problem->count; i++) {
        int32_t o = objects->object[i];
        if (o < 0 || objects->taken[o]) continue;
        int32_t idle = idle_between(&records[i], &records[record]);
        if (idle > found->distance || (idle == found->distance && o >= found->object)) continue;
        found->distance = idle;
        found->object = o;
    }
}

static int32_t next_record(const ml_objects *objects, const nearest *by_record) {
    int32_t next = -1;
    for (int32_t i = 0; i < objects->waiting; i++) { /* by size, so that the larger one wins a
                                                       * tie */
        int32_t k = objects->order[i];
        if (objects->object[k] >= 0) continue;
        if (next >= 0 && by_record[k].stage > by_record[next].stage) break;
        if (next < 0 || by_record[k].distance < by_record[next].distance) next = k;
    }
    return next;
}

/* Lists the records of object `o`; returns their number. O(n). */
static int32_t list_members(const ml_objects *objects, int32_t o, int32_t *members) {
    int32_t count = 0;
    for (int32_t i = 0; i < objects->problem->count; i++)
        if (objects->object[i] == o) members[count++] = i;
    return count;
}

static bool meets_any(const ml_record *records, const int32_t *members, int32_t count,
                      int32_t record) {
    for (int32_t i = 0; i < count; i++)
        if (ml_records_meet(&records[members[i]], &records[record])) return true;
    return false;
}

/* Updates the distances after `placed` has got its object. */
static void update(ml_objects *objects, int32_t placed, nearest *by_record, int32_t *members) {
    const ml_record *records = objects->problem->records;
    int32_t o = objects->object[placed], n_members = list_members(objects, o, members);
    for (int32_t i = 0; i < objects->waiting; i++) {
        int32_t k = objects->order[i];
        nearest *near = &by_record[k];
        if (objects->object[k] >= 0) continue;
        if (ml_records_meet(&records[k], &records[placed])) {
            if (near->object == o) find_nearest(objects, k, near);
            continue;
        }
        int32_t idle = idle_between(&records[k], &records[placed]);
        if (idle > near->distance || (idle == near->distance && o >= near->object)) continue;
        if (meets_any(records, members, n_members, k)) continue;
        near->object = o;
        near->distance = idle;
    }
}

ml_strategy_status ml_strategy_shared_greedy_by_size_improved(ml_problem *problem) {
    ml_objects objects;
    ml_strategy_status status = ml_objects_start(&objects, problem);
    if (status != ML_STRATEGY_OK) return status;
    size_t room = (size_t)problem->count + 1;
    ml_breadth *nodes = malloc(room * sizeof *nodes);
    nearest *by_record = malloc(room * sizeof *by_record);
    int64_t *maxima = calloc(room, sizeof *maxima);
    int32_t *members = malloc(room * sizeof *members);
    int32_t n_nodes = nodes && by_record && maxima && members ? ml_breadths(problem, nodes) : -1;
    if (n_nodes >= 0) {
        ml_objects_order_by_size(&objects);
        find_maxima(&objects, nodes, n_nodes, maxima);
        for (int32_t i = 0; i < objects.waiting; i++) {
            int32_t stage = i == 0 ? 0 : by_record[objects.order[i - 1]].stage;
            while (maxima[stage + 1] >= objects.size[objects.order[i]]) stage++;
            by_record[objects.order[i]] = (nearest){-1, INT32_MAX, stage, 0};
        }
        for (int32_t i = 0; i < objects.waiting; i++) {
            int32_t record = next_record(&objects, by_record);
            ml_objects_assign(&objects, record, by_record[record].object);
            update(&objects, record, by_record, members);
        }
    }
    free(nodes);
    free(by_record);
    free(maxima);
    free(members);
    return n_nodes >= 0 ? ml_objects_finish(&objects)
                        : ml_objects_abandon(&objects, ML_STRATEGY_NO_MEMORY);
}
