/* frames.h -- the memory of a whole plan: gives all frames their places. */
#ifndef ML_PLAN_FRAMES_H
#define ML_PLAN_FRAMES_H

#include "plan/family.h"
#include "plan/records.h"

typedef struct ml_placing {
    ml_demand demand;
    ml_rows *rows; /* places are written to them; those of the demand, or NULL */
    int32_t strategy; /* its index in the table */
    ml_family *family; /* NULL: nothing is kept for other sizes */
    const ml_planner_graph *tiled_io; /* the main frame with tile groups as nodes; NULL: none */
    bool longer; /* the sizes have come back: the rest of the budget may be spent */
} ml_placing;

ml_status ml_place_frames(const ml_placing *placing, ml_error *error);
/* Finds what an arena would need that has frame 0 without some of its tensors: places the rest, as
 * it would be placed then. */
ml_status ml_place_without(const ml_placing *placing, const int32_t *tensors, int32_t count,
                           ml_outlook *outlook, ml_error *error);
/* Sets the offset of the node's scratch in its frame's region, -1 = none; ML_ARENA_ERROR if a row
 * cannot hold it. */
ml_status ml_set_scratch_offset(ml_node_plan *row, int64_t offset, ml_error *error);

#endif
