/* shared_objects.h -- records, objects and their bookkeeping, for all shared-object strategies.
 *
 * Other strategies give each record an offset; these give it a whole object, which records with
 * disjoint lifetimes share. An object is as large as its largest record. Laid end to end, the
 * objects are a plan by offsets like any other. It is never smaller than the sum of the positional
 * maxima (for each i, the maximum over all nodes of the i-th largest size).
 *
 * Objects cannot have fixed records, so these strategies return ML_STRATEGY_UNSUPPORTED for
 * them. */
#ifndef ML_MEMORY_SHARED_OBJECTS_H
#define ML_MEMORY_SHARED_OBJECTS_H

#include "memory/problem.h"

typedef struct ml_objects {
    ml_problem *problem;
    int64_t *size;        /* by record: its bytes, rounded up to the alignment */
    int64_t *key;         /* by record: free for a strategy's own ordering */
    int64_t *object_size; /* by object */
    int32_t *object_last; /* by object: the last node at which one of its records is live */
    int32_t *object;      /* by record: its object, -1 while it has none */
    int32_t *order;       /* free for a strategy's order of records */
    uint8_t *taken;       /* by object: written by ml_objects_mark_taken */
    int32_t count;        /* objects */
    int32_t waiting;      /* records in `order`: those of more than 0 bytes */
} ml_objects;

/* Checks the problem and takes memory for it. With any status other than ML_STRATEGY_OK there is
 * nothing to finish. */
ml_strategy_status ml_objects_start(ml_objects *objects, ml_problem *problem);
/* Fills `order` with the records that need memory, largest first, or in order of their first node.
 * O(n log n). */
void ml_objects_order_by_size(ml_objects *objects);
void ml_objects_order_by_first(ml_objects *objects);
/* Sets taken[o] for each object that holds a record live at the same time as `record`. O(n). */
void ml_objects_mark_taken(ml_objects *objects, int32_t record);
/* Gives `record` to `object` (-1 = a new one), which grows to hold it. */
void ml_objects_assign(ml_objects *objects, int32_t record, int32_t object);
/* Lays the objects end to end, writes offsets and arena_bytes, and frees the memory. */
ml_strategy_status ml_objects_finish(ml_objects *objects);
/* Frees the memory without a plan; returns `status`. */
ml_strategy_status ml_objects_abandon(ml_objects *objects, ml_strategy_status status);

static inline bool ml_records_meet(const ml_record *a, const ml_record *b) {
    return a->first <= b->last && b->first <= a->last;
}

#endif
