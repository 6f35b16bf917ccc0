/* planner.h -- what planner.c and lifetimes.c share: the planner's tables. Nobody else includes it. */
#ifndef ML_MEMORY_PLANNER_H
#define ML_MEMORY_PLANNER_H

#include "core/error.h"
#include "core/shape.h"
#include "memory/problem.h"

struct ml_planner {
    const ml_planner_graph *graph;
    char strategy[32];
    int32_t options;
    int32_t alignment;
    int32_t count; /* tensors and temporaries */
    int32_t last_active; /* the node up to which memory was planned, -1 = none */
    ml_placing_order *order; /* borrowed, or NULL */
    int32_t n_active;
    int32_t n_fixed; /* tensors with an offset of the caller's */
    int64_t high_water;
    int64_t persistent;
    int64_t *bytes;
    int64_t *offset;
    int64_t *fixed; /* the caller's offset, -1 = none */
    int64_t *placed; /* bytes at the time of placing, 0 = not placed */
    int32_t *first; /* -1 = never allocated */
    int32_t *last;
    int32_t *uses; /* input slots that read it, + 1 when kept */
    int32_t *root;
    int32_t *active; /* placed tensors that may be live at the node reached */
    int32_t *by_first; /* tensors grouped by the node that allocates them */
    int32_t *group; /* by_first[group[n] .. group[n + 1]) is node n's */
    ml_record *records;
    uint8_t *place;
    uint8_t *skipped;
    uint8_t *pinned;
    uint8_t *marked; /* waits for resolve_deallocations */
    uint8_t *edge; /* 1 = graph input, 2 = graph output */
};

/* lifetimes.c: the first and last node of every tensor, who shares whose memory, and tensors by the node that allocates them. */
void ml_planner_find_lifetimes(ml_planner *planner);

#endif
