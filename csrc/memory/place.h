/* place.h -- places one record among those already placed; the greedy strategies share it.
 *
 * A layout keeps placed records sorted by offset in compact arrays. Placing scans those that are
 * live at the same time as the new record, O(placed), and looks at the gaps between them:
 *   best fit   the smallest gap that takes it (the lowest of equal ones), else after the last
 *   first fit  the lowest gap that takes it
 *   on top     no gap: after the last. Placing in the order of an earlier plan's offsets stacks
 *              the records as that plan did, for other sizes */
#ifndef ML_MEMORY_PLACE_H
#define ML_MEMORY_PLACE_H

#include "core/shape.h"
#include "memory/problem.h"

typedef enum { ML_BEST_FIT = 0, ML_FIRST_FIT = 1, ML_ON_TOP = 2 } ml_fit;

typedef struct ml_placed {
    int64_t offset;
    int64_t end; /* offset + rounded size */
    int32_t first;
    int32_t last;
} ml_placed;

typedef struct ml_layout {
    ml_placed *placed; /* room for every record of the problem */
    int32_t count;
    int32_t alignment;
    int64_t height; /* the largest end */
} ml_layout;

/* Starts a layout with the problem's fixed records; `room` has room for problem->count entries. */
void ml_layout_start(ml_layout *layout, ml_placed *room, const ml_problem *problem);
/* Adds a record of `size` bytes (> 0, a multiple of the alignment) that is live from first to last,
 * and returns its offset. */
int64_t ml_layout_place(ml_layout *layout, int64_t size, int32_t first, int32_t last, ml_fit fit);
/* ML_STRATEGY_OVERFLOW if the sum of the rounded sizes is above INT64_MAX / 2. */
ml_strategy_status ml_check_sizes(const ml_problem *problem);
/* Fills `order` with the numbers of the records still to be placed, largest `key` first (ties by
 * first node, then by number); returns how many. */
int32_t ml_order_by(const ml_problem *problem, const int64_t *key, int32_t *order);

#endif
