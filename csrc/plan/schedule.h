/* schedule.h -- ml_schedule: the steps of one subgraph in their order, and from which node to which
 * each tensor and each node's scratch is live.
 *
 * The scratch of node n is numbered n_tensors + n, in all tables of this room. */
#ifndef ML_PLAN_SCHEDULE_H
#define ML_PLAN_SCHEDULE_H

#include "core/shape.h"
#include "memory/problem.h"

/* ML_PINNED: a tensor shares places with views only; ML_PINNED_AS_OUTPUT: it does not lie in the
 * place of an input. */
enum { ML_NOT_PINNED = 0, ML_PINNED = 1, ML_PINNED_AS_OUTPUT = 2 };

/* The needs of each tensor and each node's scratch. */
typedef struct ml_tensor_usage {
    int64_t *bytes; /* not rounded */
    int64_t *fixed; /* the offset that the caller has given; -1 = none */
    uint8_t *memory; /* ml_memory_kind */
    uint8_t *pinned;
    uint8_t *skipped; /* by node: 1 = folded, it neither reads nor writes */
    int32_t n_fixed;
} ml_tensor_usage;

typedef struct ml_schedule {
    const ml_planner_graph *graph; /* the steps are its nodes */
    int32_t options;
    int32_t count; /* tensors and scratch */
    int32_t *first; /* nodes, both inclusive; -1 = never live */
    int32_t *last;
    int32_t *uses; /* operands that read it; + 1 if kept to the end */
    int32_t *root; /* the tensor whose place it has; itself, if it shares none */
    int32_t *by_first; /* tensors, by the node at which they begin to live */
    int32_t *group; /* by_first[group[n] .. group[n + 1]) begin at node n */
    uint8_t *edge; /* 1 = graph input, 2 = graph output */
} ml_schedule;

/* Finds from which node to which everything is live, and which outputs overwrite inputs. */
void ml_schedule_find(ml_schedule *schedule, const ml_tensor_usage *usage);

#endif
