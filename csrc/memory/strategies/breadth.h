/* breadth.h -- the nodes where records begin, and the bytes live at each.
 *
 * The set of live records grows only at nodes where records begin, so every maximum is at one of
 * these nodes: the broadest node, and the largest profile (the sizes live at a node). */
#ifndef ML_MEMORY_BREADTH_H
#define ML_MEMORY_BREADTH_H

#include "memory/problem.h"

typedef struct ml_breadth {
    int64_t bytes; /* sum of rounded sizes live at `node` */
    int32_t node;
    int32_t reserved;
} ml_breadth;

/* Lists the nodes where records of more than 0 bytes begin, ascending, without repeats; `breadths`
 * has room for problem->count entries. Fixed records count too. Returns their number, -1 without
 * memory. O(n log n). */
int32_t ml_breadths(const ml_problem *problem, ml_breadth *breadths);

#endif
