/* conflicts.h -- lists, for each record of a problem, the records that are live at the same time.
 * Found once, the lists make many planning passes cheap. */
#ifndef ML_MEMORY_CONFLICTS_H
#define ML_MEMORY_CONFLICTS_H

#include "memory/place.h"

typedef struct ml_conflicts {
    int32_t *start; /* by record: others[start[i] .. start[i + 1]) are live with record i */
    int32_t *others;
    int32_t *before; /* by record: how many of its list come first; set by ml_conflicts_divide */
    int32_t count; /* records; 0: nothing is listed */
    int32_t most; /* in one list */
} ml_conflicts;

/* A record, and the node at which it begins or ends to live. */
typedef struct ml_record_at {
    int32_t node;
    int32_t record;
} ml_record_at;
/* Sorts by node; those of one node by record. */
void ml_sort_by_node(ml_record_at *records, int32_t count);

/* Fills the lists for `count` records; leaves them empty without memory, or if they would save
 * nothing over looking at all records. */
void ml_conflicts_find(ml_conflicts *conflicts, const ml_record *records, int32_t count);
void ml_conflicts_free(ml_conflicts *conflicts);

/* Puts first in each list the records whose place in an order, given by record, is lower than that
 * of the record itself. */
void ml_conflicts_divide(ml_conflicts *conflicts, const int64_t *place);

/* The end of the highest record that is live with record `i` and placed before it, in the order by
 * which the lists are divided. `ends` is by record. */
static inline int64_t ml_conflicts_top(const ml_conflicts *conflicts, int32_t i,
                                       const int64_t *ends) {
    int64_t top = 0;
    const int32_t first = conflicts->start[i], end_of_first = first + conflicts->before[i];
    for (int32_t k = first; k < end_of_first; k++) {
        const int64_t end = ends[conflicts->others[k]];
        if (end > top) top = end;
    }
    return top;
}

typedef struct ml_stretch {
    int64_t offset;
    int64_t end;
} ml_stretch;

void ml_sort_by_offset(ml_stretch *stretches, int32_t count);

/* The offset that ml_layout_place would find for record `i`. `offset` is by record, -1 = not
 * placed; `room` has room for conflicts->most entries. */
int64_t ml_conflicts_place(const ml_conflicts *conflicts, int32_t i, const int64_t *size,
                           const int64_t *offset, ml_stretch *room, ml_fit fit);

#endif
