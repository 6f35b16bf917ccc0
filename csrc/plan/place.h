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

/* How much a dynamic tensor needed: the maximum of its last 32 to 64 runs, in two windows. (A
 * maximum that decays slowly would be outgrown again and again if lengths are random. Two windows
 * are not, and still forget a peak.) */
enum { ML_WINDOW = 32 };
typedef struct ml_need {
    int64_t most; /* in the window of `run` */
    int64_t before; /* in the window before it */
    int64_t last; /* bytes needed in `run` */
    int64_t run; /* the last run that stored something here */
    int64_t outgrown_at; /* the last run that needed more than `most` and `before` */
    int64_t outgrown; /* number of such runs */
} ml_need;

/* The bytes to plan. A tensor that has outgrown its place twice will do so again: it gets a
 * sixteenth more. */
static inline int64_t ml_need_room(const ml_need *n, int64_t bytes) {
    return n->outgrown > 1 ? bytes + bytes / 16 : bytes;
}
static inline int64_t ml_need_capacity(const ml_need *n, int64_t now) {
    int64_t passed = now / ML_WINDOW - n->run / ML_WINDOW;
    if (passed > 1) return n->last;
    return ml_need_room(n, passed > 0 ? n->most : ml_max_s64(n->most, n->before));
}

static inline void ml_need_note(ml_need *n, int64_t bytes, int64_t now) {
    if (n->run == now && bytes <= n->last) return;
    int64_t passed = now / ML_WINDOW - n->run / ML_WINDOW;
    if (passed > 1) *n = (ml_need){.before = n->last, .outgrown_at = -1};
    else if (passed > 0) *n = (ml_need){0, n->most, 0, now, n->outgrown_at, n->outgrown};
    int64_t held = ml_max_s64(n->most, n->before);
    if (held > 0 && bytes > held && n->outgrown_at != now) {
        n->outgrown_at = now;
        n->outgrown++;
    }
    n->last = n->run == now ? ml_max_s64(n->last, bytes) : bytes;
    n->most = ml_max_s64(n->most, bytes);
    n->run = now;
}

/* What placing reads and writes. All frames are placed, callees first. */
typedef struct ml_placing {
    const ml_graph *graph;
    ml_rows *rows;
    const char *strategy;
    int32_t options;
    /* By slot, then by node: what runs needed of dynamic tensors and of scratch, if that is more
     * than the rows say; NULL: for a plan, whose open tensors take no bytes. */
    const ml_need *needs;
    int64_t now; /* the number of runs so far */
    ml_frame_planner *planners; /* by frame; NULL for reports, which keep none */
    bool as_placed; /* what the rows have reserved is needed */
    bool longer; /* the sizes have come back: the rest of the budget may be spent */
    bool offline; /* the memory plan of the file is used */
} ml_placing;

ml_status ml_place_frames(const ml_placing *placing, ml_error *error);
/* What an arena would need that has frame 0 without some of its tensors: places the rest, as it
 * would be placed then. */
ml_status ml_place_without(const ml_placing *placing, const int32_t *tensors, int32_t count,
                           ml_outlook *outlook, ml_error *error);
/* Whether a node's scratch is planned in the arena, because it is large or frames of subgraphs lie
 * in it. */
static inline bool ml_scratch_in_arena(const ml_node *node, int64_t scratch_bytes) {
    return node->n_children > 0 || scratch_bytes > ML_WORK_BYTES ||
           (scratch_bytes > 0 && node->kernel->flags & ML_KERNEL_HAS_EFFECTS);
}
/* Sets the offset of the node's scratch in its frame's region, -1 = none; ML_ARENA_ERROR if a row
 * cannot hold it. */
ml_status ml_set_scratch_offset(ml_node_plan *row, int64_t offset, ml_error *error);

#endif
