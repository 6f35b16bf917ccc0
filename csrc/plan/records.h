/* records.h -- usage records: what tensors and scratch need, in which memory, from node to node. */
#ifndef ML_PLAN_RECORDS_H
#define ML_PLAN_RECORDS_H

#include "plan/planner.h"
#include "plan/rows.h"

/* Scratch of up to this many bytes lies in the state's work block, which all nodes share; larger
 * scratch is planned in the arena. */
enum { ML_WORK_BYTES = 64 * 1024 };

/* The bytes that a dynamic tensor needed: the maximum of its last 32 to 64 runs, in two windows. (A
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

/* Where the needs of a plan or of a residence are found. */
typedef struct ml_demand {
    const ml_graph *graph;
    const ml_rows *rows;
    /* The needs of dynamic tensors and of scratch in runs, by slot, then by node, if they are more
     * than the rows say; NULL: for a plan, whose open tensors take no bytes. */
    const ml_need *needs;
    int64_t now; /* the number of runs so far */
    int32_t options;
    bool as_placed; /* what the rows have reserved is needed */
    bool offline; /* the memory plan of the file is used */
} ml_demand;

/* Fills in what everything in a frame needs; false if something has changed on which the schedule
 * may depend. */
bool ml_records_describe(const ml_demand *demand, int32_t frame, ml_planner *planner);
/* The bytes of a node's scratch that its children need. */
int64_t ml_records_room(const ml_demand *demand, int32_t frame, int32_t node);
/* The memory plan in the file is valid for the shapes in the file, and if tensors may share memory
 * at all. It does not cover subgraphs that nodes call. */
static inline bool ml_follows_file(const ml_demand *demand, int32_t frame) {
    return frame == 0 && demand->offline && ml_frame_subgraph(demand->graph, 0)->planned_offline &&
           !(demand->options & ML_KEEP_ALL);
}
/* True if a node's scratch is planned in the arena, because it is large or frames of subgraphs lie
 * in it. */
static inline bool ml_scratch_in_arena(const ml_node *node, int64_t scratch_bytes) {
    return node->n_children > 0 || scratch_bytes > ML_WORK_BYTES ||
           (scratch_bytes > 0 && node->kernel->flags & ML_KERNEL_HAS_EFFECTS);
}
static inline ml_record ml_record_of(const ml_planner *p, int32_t tensor, int64_t size,
                                     int64_t offset) {
    return (ml_record){.size = size,
                       .offset = offset,
                       .first = p->schedule.first[tensor],
                       .last = p->schedule.last[tensor],
                       .tensor = tensor,
                       .memory = p->usage.memory[tensor]};
}
/* The largest sum of rounded sizes that are live at once in the arena; *peaks gets the number of
 * nodes at which that many bytes are live. -1 without memory. */
int64_t ml_records_bound(const ml_planner *planner, int32_t *peaks);

#endif
