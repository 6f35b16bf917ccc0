/* conflicts.h -- which records of a problem are live at once, listed: found once, they make a pass
 * over many plans cheap. */
#ifndef ML_MEMORY_CONFLICTS_H
#define ML_MEMORY_CONFLICTS_H

#include "memory/place.h"

typedef struct ml_conflicts {
    int32_t *start; /* by record: others[start[i] .. start[i + 1]) are live with record i */
    int32_t *others;
    int32_t count; /* records; 0: nothing is listed */
    int32_t most; /* in one list */
} ml_conflicts;

/* Lists what `count` records have in common; nothing where that is no gain over looking at all of
 * them, or without memory. */
void ml_conflicts_find(ml_conflicts *conflicts, const ml_record *records, int32_t count);
void ml_conflicts_free(ml_conflicts *conflicts);

typedef struct ml_stretch {
    int64_t offset;
    int64_t end;
} ml_stretch;

/* What ml_layout_place finds, for record `i`: `offset` is by record, -1 where it is not placed;
 * `room` takes conflicts->most. */
int64_t ml_conflicts_place(const ml_conflicts *conflicts, int32_t i, const int64_t *size,
                           const int64_t *offset, ml_stretch *room, ml_fit fit);

#endif
