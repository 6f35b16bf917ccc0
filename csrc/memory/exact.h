/* exact.h -- the exact planner's decision search: is there a layout within a capacity?
 *
 * Depth-first over canonical layouts: records are placed by rising offset, each at the lowest offset that those below it
 * leave (its floor). Pruned where
 *   - a section (a maximal set of records live at once) cannot take its unplaced bytes above its own lowest floor
 *     or above the offset reached (section inference, monotonic floor);
 *   - another unplaced record would fit wholly below the one to be placed (dominance);
 *   - a record under which nothing is left to place failed: any other choice fails too (hatless);
 *   - a cut that no unplaced record crosses splits the rest into parts that are solved one by one (decomposition).
 * Several static orders take turns, each with twice the nodes of the last round.
 * Source: M. Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning" (ASPLOS 2023).
 */
#ifndef ML_MEMORY_EXACT_H
#define ML_MEMORY_EXACT_H

#include "problem.h"

typedef enum { ML_FITS = 0, ML_DOES_NOT_FIT = 1, ML_OUT_OF_BUDGET = 2 } ml_verdict;

typedef struct ml_exact_item {
    int64_t size;
    int64_t floor;   /* lowest offset that the placed records leave */
    int64_t offset;  /* -1 while unplaced */
    int32_t start;   /* sections, both inclusive */
    int32_t stop;
    int32_t rank;    /* in the static order */
    int32_t record;
} ml_exact_item;

typedef struct ml_exact {
    ml_exact_item *items;
    int32_t count;
    int32_t n_sections;
    int32_t *member_start; /* members[member_start[s] .. member_start[s + 1]) are section s's items */
    int32_t *members;
    int64_t *unplaced;     /* by section: bytes still to place */
    int64_t *section_floor;/* by section: the lowest floor of an unplaced item */
    int32_t *crossing;     /* unplaced items in both section s and s + 1 */
    int32_t *lists;        /* stack of item lists */
    int64_t lists_used;
    int64_t *undo;         /* stack of (item, old floor) */
    int64_t undo_used;
    int64_t capacity;
    int64_t nodes;
    int64_t node_limit;    /* of this round */
    double stop_at;        /* CPU seconds of this thread; 0 = none */
} ml_exact;

/* Decides whether everything fits below `exact->capacity`; items hold the offsets when it does. */
ml_verdict ml_exact_search(ml_exact *exact);
double ml_cpu_seconds(void);

#endif
