/* planner.h -- ml_planner: the memory of one subgraph, placed whole or in steps: its tables, which
 * the files of this room share.
 *
 * Each file has one part: records.c fills `usage`, schedule.c `schedule`, layout.c the offsets;
 * family.c keeps planners from one size to the next, with lists of their records. */
#ifndef ML_PLAN_PLANNER_H
#define ML_PLAN_PLANNER_H

#include "core/error.h"
#include "memory/conflicts.h"
#include "plan/schedule.h"

/* Tensors in the order in which they were last placed, which the next placement of the same graph
 * starts with. `tensors` has room for all tensors and scratch; count 0 = nothing yet. */
typedef struct ml_placing_order {
    int32_t *tensors;
    int32_t count;
} ml_placing_order;

/* The records of the last plan of the whole graph. The lists are valid as long as the next plan has
 * the same records with the same lifetimes. */
typedef struct ml_listing {
    int32_t *tensors; /* by record */
    /* Records by ascending last node; made, like conflicts, when a second plan has the same
     * records. */
    int32_t *by_last;
    int32_t *record_of; /* by tensor; -1 = none */
    int64_t *sizes; /* by record, rounded; of the plan being made */
    int64_t *ends; /* by record, once it is placed */
    int32_t *divided; /* the tensors of the order by which the lists are divided */
    int32_t n_divided; /* 0: by none */
    int32_t count;
    bool listed;
    bool used; /* there was a plan before */
    ml_conflicts conflicts;
} ml_listing;

/* An operand that output 0 of its node may overwrite, if it is as large. */
typedef struct ml_overwrite {
    int32_t input;
    int32_t output;
    bool any_size; /* else only if above 4 bytes, as in TFLite */
    bool equal; /* it was as large as the output when lifetimes were found */
} ml_overwrite;

struct ml_planner {
    char strategy[32];
    bool searches; /* the strategy is the default one */
    int32_t alignment;
    ml_tensor_usage usage;
    ml_schedule schedule;
    /* Kept from one size to the next. */
    ml_placing_order *order; /* borrowed, or NULL */
    ml_listing listing;
    ml_overwrite *overwrites;
    int32_t n_overwrites;
    bool found; /* the schedule is up to date */
    bool stood; /* and was taken over from an earlier size */
    bool stacked; /* the last whole graph was placed in the order of the size before */
    bool longer; /* these sizes have come back: the search may use the whole budget */
    int64_t spent; /* how much of the budget is used */
    int64_t bound; /* lower bound of the arena; -1 = not known yet */
    /* Placed tensors and scratch. */
    int64_t *offset; /* -1 = not placed */
    int64_t *placed; /* bytes at the time of placing, 0 = not placed */
    int64_t high_water[ML_MEMORIES]; /* by memory: the end of what is placed there */
    ml_record *records;
    int32_t *active; /* placed tensors that may be live at the node reached */
    int32_t n_active;
    int32_t purged; /* active has all placed tensors that are live at this node or later */
    int32_t last_active; /* the node up to which memory was planned, -1 = none */
    bool resized; /* sizes were set one by one since the schedule was found */
    uint8_t *marked; /* to be dropped by resolve_deallocations */
};

#endif
