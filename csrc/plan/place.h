/* place.h -- lifetimes and offsets of the tensors of all frames, and of scratch. */
#ifndef ML_PLAN_PLACE_H
#define ML_PLAN_PLACE_H

#include "plan/rows.h"

/* Scratch of up to this many bytes comes from the state's work block, one for all nodes; more of it
 * is planned in the arena. */
enum { ML_WORK_BYTES = 64 * 1024 };

/* What a state keeps of a frame from plan to plan, for plans that share in place and for those that
 * do not: in which order the last one was placed, and from the second on the planner, with
 * lifetimes and lists. */
typedef struct ml_kept_planner {
    ml_placing_order order;
    ml_planner *planner;
} ml_kept_planner;
typedef struct ml_frame_planner {
    ml_kept_planner apart;
    ml_kept_planner sharing;
} ml_frame_planner;

/* All frames are placed, callees first; `capacities` (by slot) stand in for the bytes of dynamic
 * tensors where they are larger. */
typedef struct ml_placing {
    const ml_graph *graph;
    ml_rows *rows;
    const char *strategy;
    int32_t options;
    const int64_t *capacities; /* NULL: a plan, whose open tensors take nothing */
    const int64_t *scratch; /* by node: what scratch needed so far; NULL with capacities */
    ml_frame_planner *planners; /* by frame, or NULL */
    bool longer; /* the sizes have come back: what is left of the budget goes into a search */
    bool offline; /* the file's own memory plan is in force */
    bool looks; /* rows are placed: what shares a place is theirs to say */
} ml_placing;

/* Called with each frame's planner, callees first, before it is freed. */
typedef ml_status (*ml_placed_fn)(void *context, int32_t frame, ml_planner *planner);
ml_status ml_place_frames(const ml_placing *placing, ml_placed_fn placed, void *context,
                          ml_error *error);
/* A planner that knows a frame's sizes, lifetimes and sharing; nothing is placed. NULL without
 * memory. The caller's, unless it is one of placing->planners. */
ml_planner *ml_place_planner(const ml_placing *placing, int32_t frame, int32_t options);
/* Whether a node's scratch is planned in the arena: it is large, or subgraphs live in it. */
static inline bool ml_scratch_in_arena(const ml_node *node, int64_t scratch_bytes) {
    return node->n_children > 0 || scratch_bytes > ML_WORK_BYTES ||
           (scratch_bytes > 0 && node->kernel->flags & ML_KERNEL_HAS_EFFECTS);
}
/* The node's place in its frame's region, -1 for none; ML_ARENA_ERROR beyond what a row counts. */
ml_status ml_set_scratch_offset(ml_node_plan *row, int64_t offset, ml_error *error);
/* What the children of a node need of its scratch: the larger region, for they take turns. */
int64_t ml_children_room(const ml_graph *graph, const ml_rows *rows, int32_t frame, int32_t node);

#endif
