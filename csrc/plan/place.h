/* place.h -- finds lifetimes and offsets for the tensors of all frames, and for scratch. */
#ifndef ML_PLAN_PLACE_H
#define ML_PLAN_PLACE_H

#include "plan/rows.h"

/* Scratch of up to this many bytes lies in the state's work block, which all nodes share; larger
 * scratch is planned in the arena. */
enum { ML_WORK_BYTES = 64 * 1024 };

/* What a state keeps about a frame from plan to plan, once for plans that share in place and once
 * for those that do not: the order in which the last plan was placed, and from the second plan on
 * the planner, with lifetimes and lists. */
typedef struct ml_kept_planner {
    ml_placing_order order;
    ml_planner *planner;
} ml_kept_planner;
typedef struct ml_frame_planner {
    ml_kept_planner apart;
    ml_kept_planner sharing;
} ml_frame_planner;

/* What placing reads. All frames are placed, callees first; `capacities` (by slot) replace the
 * bytes of dynamic tensors if they are larger. */
typedef struct ml_placing {
    const ml_graph *graph;
    ml_rows *rows;
    const char *strategy;
    int32_t options;
    const int64_t *capacities; /* NULL: for a plan, whose open tensors take no bytes */
    const int64_t *scratch; /* by node: scratch needed so far; NULL if capacities is */
    const int64_t *rooms; /* by frame: its bytes in its caller's scratch; NULL: as regions say */
    ml_frame_planner *planners; /* by frame; NULL for reports, which keep none */
    bool longer; /* the sizes have come back: the rest of the budget may be spent */
    bool offline; /* the memory plan of the file is used */
} ml_placing;

/* Called with each frame's planner, callees first, before it is freed. */
typedef ml_status (*ml_placed_fn)(void *context, int32_t frame, ml_planner *planner);
ml_status ml_place_frames(const ml_placing *placing, ml_placed_fn placed, void *context,
                          ml_error *error);
/* A planner that knows a frame's sizes, lifetimes and sharing, with nothing placed. NULL without
 * memory. The caller frees it, unless it is one of placing->planners. */
ml_planner *ml_place_planner(const ml_placing *placing, int32_t frame, int32_t options);
/* Whether a node's scratch is planned in the arena, because it is large or frames of subgraphs lie
 * in it. */
static inline bool ml_scratch_in_arena(const ml_node *node, int64_t scratch_bytes) {
    return node->n_children > 0 || scratch_bytes > ML_WORK_BYTES ||
           (scratch_bytes > 0 && node->kernel->flags & ML_KERNEL_HAS_EFFECTS);
}
/* Sets the offset of the node's scratch in its frame's region, -1 = none; ML_ARENA_ERROR if a row
 * cannot hold it. */
ml_status ml_set_scratch_offset(ml_node_plan *row, int64_t offset, ml_error *error);
/* How much of a node's scratch its children need: the larger of their regions, because they run one
 * after the other. */
int64_t ml_children_room(const ml_graph *graph, const ml_rows *rows, int32_t frame, int32_t node);

#endif
