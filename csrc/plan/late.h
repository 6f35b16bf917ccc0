/* late.h -- the records that runs place one by one, after everything that was planned: of tensors
 * and scratch that have outgrown their places. */
#ifndef ML_PLAN_LATE_H
#define ML_PLAN_LATE_H

#include "core/error.h"
#include "memory/place.h"

typedef struct ml_late_record {
    ml_record record; /* `tensor`: a tensor, or n_tensors + n for scratch; the size is rounded */
    int32_t next; /* the number of another record that begins at the same node; -1 = none */
} ml_late_record;

/* The late records of a frame. Places are kept from run to run, until everything is placed again. A
 * run goes through the frame in order, so it looks only at records that are live when it places
 * one. */
typedef struct ml_late_records {
    ml_late_record *records;
    int32_t *first; /* by node: the number of a record that begins there; -1 = none */
    int32_t *active; /* numbers of records that are live at the node reached, by ascending offset */
    struct ml_stretch *near; /* what a new record must not overlap; filled by ml_late_find */
    int32_t count;
    int32_t room;
    int32_t n_nodes; /* of the frame */
    int32_t n_active;
    int32_t reached; /* records that begin up to this node are active, unless they have ended */
    int64_t planned; /* bytes of the region that were planned */
} ml_late_records;

/* Drops all records; what was planned has so many bytes now. */
void ml_late_clear(ml_late_records *late, int64_t planned);
void ml_late_free(ml_late_records *late);
/* The frame is run from its first node again. */
static inline void ml_late_begin(ml_late_records *late) {
    late->reached = -1;
    late->n_active = 0;
}
/* True if the place at `offset` still belongs to the tensor, whose record begins at node `first`:
 * another may have grown into it. */
bool ml_late_has(const ml_late_records *late, int32_t first, int32_t tensor, int64_t offset);
/* The lowest offset at which the record overlaps no other one that is live with it. */
int64_t ml_late_find(ml_late_records *late, const ml_record *record);
/* Makes room for one more record of a frame of so many nodes. */
ml_status ml_late_reserve(ml_late_records *late, int32_t n_nodes, ml_error *error);
/* Adds the record, for which there is room, in place of the one that its tensor had. */
void ml_late_add(ml_late_records *late, const ml_record *record);

#endif
