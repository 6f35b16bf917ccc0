/* breadth.h -- the nodes where records begin, and the bytes live at each.
 *
 * The set of live records only grows where one begins, so these nodes hold every maximum: the
 * broadest node, and the profile (the sizes live at a node) that contains those of the nodes after
 * it. */
#ifndef ML_MEMORY_BREADTH_H
#define ML_MEMORY_BREADTH_H

#include "memory/problem.h"

typedef struct ml_breadth {
    int64_t bytes; /* sum of rounded sizes live at `node` */
    int32_t node;
    int32_t reserved;
} ml_breadth;

/* Lists the nodes where records of more than 0 bytes begin, ascending, without repeats; `breadths`
 * takes problem->count entries. Fixed records count like all others. Returns their number, -1 when
 * the system gives no memory. O(n log n). */
int32_t ml_breadths(const ml_problem *problem, ml_breadth *breadths);

#endif
