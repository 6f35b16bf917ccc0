/* shared_objects.h -- what the shared-object strategies have in common.
 *
 * They give each record a whole object, shared by records whose lifetimes are disjoint, where other
 * strategies give offsets. An object is as large as its largest record. Laid end to end, objects
 * are a plan by offsets like any other; none is smaller than the sum of the positional maxima (the
 * i-th largest sizes of all nodes, the largest of each i).
 *
 * Fixed records have no place among objects: these strategies return ML_STRATEGY_UNSUPPORTED for
 * them. */
#ifndef ML_MEMORY_SHARED_OBJECTS_H
#define ML_MEMORY_SHARED_OBJECTS_H

#include "memory/problem.h"

typedef struct ml_objects {
    ml_problem *problem;
    int64_t *size;        /* by record: its bytes, rounded up to the alignment */
    int64_t *key;         /* by record: free for a strategy's own ordering */
    int64_t *object_size; /* by object */
    int32_t *object_last; /* by object: the last node that any of its records lives at */
    int32_t *object;      /* by record: its object, -1 while it has none */
    int32_t *order;       /* free for a strategy's order of records */
    uint8_t *taken;       /* by object: written by ml_objects_mark_taken */
    int32_t count;        /* objects */
    int32_t waiting;      /* records in `order`: those of more than 0 bytes */
} ml_objects;

/* Checks the problem and takes memory for it. On any status but ML_STRATEGY_OK there is nothing to
 * finish. */
ml_strategy_status ml_objects_start(ml_objects *objects, ml_problem *problem);
/* Fills `order` with the records that need memory, largest first, or in order of their first node.
 * O(n log n). */
void ml_objects_order_by_size(ml_objects *objects);
void ml_objects_order_by_first(ml_objects *objects);
/* Sets taken[o] for each object that holds a record live at the same time as `record`. O(n). */
void ml_objects_mark_taken(ml_objects *objects, int32_t record);
/* Gives `record` to `object` (-1 = a new one), which grows to hold it. */
void ml_objects_assign(ml_objects *objects, int32_t record, int32_t object);
/* Lays the objects end to end, writes offsets and arena_bytes, gives the memory back. */
ml_strategy_status ml_objects_finish(ml_objects *objects);
/* Gives the memory back without a plan; returns `status`. */
ml_strategy_status ml_objects_abandon(ml_objects *objects, ml_strategy_status status);

static inline bool ml_records_meet(const ml_record *a, const ml_record *b) {
    return a->first <= b->last && b->first <= a->last;
}

#endif
