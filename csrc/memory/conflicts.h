/* conflicts.h -- lists, for each record of a problem, the records that are live at the same time.
 * Found once, the lists make many planning passes cheap. */
#ifndef ML_MEMORY_CONFLICTS_H
#define ML_MEMORY_CONFLICTS_H

#include "memory/place.h"

typedef struct ml_conflicts {
    int32_t *start; /* by record: others[start[i] .. start[i + 1]) are live with record i */
    int32_t *others;
    int32_t count; /* records; 0: nothing is listed */
    int32_t most; /* in one list */
} ml_conflicts;

/* Fills the lists for `count` records; leaves them empty without memory, or if they would save
 * nothing over looking at all records. */
void ml_conflicts_find(ml_conflicts *conflicts, const ml_record *records, int32_t count);
void ml_conflicts_free(ml_conflicts *conflicts);

typedef struct ml_stretch {
    int64_t offset;
    int64_t end;
} ml_stretch;

/* The offset that ml_layout_place would find for record `i`. `offset` is by record, -1 = not
 * placed; `room` has room for conflicts->most entries. */
int64_t ml_conflicts_place(const ml_conflicts *conflicts, int32_t i, const int64_t *size,
                           const int64_t *offset, ml_stretch *room, ml_fit fit);

#endif
