/* residence.h -- a residence: a plan in a state's memory, with its pointers and steps and what runs
 * learn of it. */
#ifndef ML_STATE_RESIDENCE_H
#define ML_STATE_RESIDENCE_H

#include "plan/plan.h"

typedef ml_status (*ml_eval_fn)(const ml_call *call);

typedef struct ml_step {
    ml_eval_fn eval;
    ml_call call;
} ml_step;

typedef struct ml_frame_now {
    uint8_t *region;
    int32_t first_step;
    uint32_t n_steps : 31;
    /* It outgrew its caller's scratch in mid-run and lies in the state's spill. */
    uint32_t spilled : 1;
} ml_frame_now;

/* A record that a run placed by itself, after what was planned: a tensor, or n_tensors plus a
 * node's position for scratch. */
typedef struct ml_alone {
    int64_t offset;
    int64_t size; /* a multiple of the alignment */
    int32_t id;
    int32_t first;
    int32_t last;
} ml_alone;

/* The records of a frame that lie alone. A run walks the frame in order, so those that are dead at
 * the node reached are moved after `live`, and looked at no more until the frame is run again. */
typedef struct ml_alone_list {
    ml_alone *records;
    int32_t count;
    int32_t live;
    int32_t room;
    int64_t planned; /* bytes of the region that placement gave out */
    /* Bytes in the caller's scratch; a frame that outgrew them has memory of its own. */
    int64_t offered;
} ml_alone_list;

/* What runs learn of a plan with dynamic tensors. One block, but for the places of what grew. */
typedef struct ml_learnt {
    ml_rows rows;
    int64_t *capacities; /* by slot: bytes that are planned, of the root where memory is shared */
    int64_t *scratch; /* by node: bytes of its own scratch that are planned */
    int32_t *first; /* by slot: the first and last node of its root's life */
    int32_t *last;
    int32_t *steps; /* by node of all frames: its step, -1 = none */
    ml_alone_list *alone; /* by frame */
    bool grew; /* something was placed alone since the last placement */
} ml_learnt;

/* One block, but for what it has learnt. Pointers of its frames lie where arena and spills were
 * when they were made. */
/* Whether runs of a plan keep to the caller's thread (run/sharing.c). */
typedef struct ml_sharing {
    uint32_t fastest[2]; /* in ns, of the last tries: with the other threads, and alone */
    uint16_t turn; /* runs since the last tries began */
    bool alone; /* what they showed */
} ml_sharing;

typedef struct ml_residence {
    struct ml_residence *next; /* of the same bucket */
    struct ml_residence *older, *newer; /* by last use */
    ml_plan *plan;
    ml_rows *rows; /* the plan's own tables, or copies that runs write */
    ml_learnt *learnt; /* NULL: the plan has no dynamic tensor, rows are its own */
    ml_step *steps; /* of all frames, one for each node that has to run */
    const uint8_t *at_persistent; /* where variables lay when pointers were made */
    uint64_t changes[2]; /* the state's when a pointer or a shape last changed */
    bool resolved;
    bool improved; /* a longer search was given its chance */
    bool ran; /* since it was put in force */
    ml_sharing sharing;
    ml_frame_now frames[]; /* then pointers by tensor of all frames, then the steps */
} ml_residence;

/* What a dynamic tensor needed: the most of its last 32 to 64 runs. A sliding maximum that forgets
 * slowly lets lengths that are drawn anew in every run outgrow it time and again; two windows do
 * not, and forget a peak all the same. */
enum { ML_WINDOW = 32 };
typedef struct ml_need {
    int64_t most; /* in the window of `run` */
    int64_t before; /* in the window before it */
    int64_t last; /* in `run` */
    int64_t run; /* the last one that noted something */
    int64_t outgrown_at; /* the last run that needed more than all before */
    int64_t outgrown; /* how many did */
} ml_need;

/* What to plan with at run number `now`. Who has outgrown it twice will again: it gets a sixteenth
 * more. */
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

ml_status ml_residence_new(ml_state *state, ml_plan *plan, ml_residence **residence,
                           ml_error *error);
void ml_residence_free(ml_residence *residence);
/* Copies pointers and steps of a residence that has as many. */
void ml_residence_copy_tables(ml_residence *to, const ml_residence *from);
/* What the cache counts: the plan and its tables. Places of what grew are not among it, for the
 * next placement drops them. */
int64_t ml_residence_bytes(const ml_residence *residence);
/* Lays a residence with dynamic tensors out anew, with the capacities that runs have learnt, and
 * takes the memory for it; false, and nothing has changed, when the system gives too little.
 * Pointers have to be resolved afterwards. */
bool ml_residence_renew(ml_state *state, ml_residence *residence);

/* Whether a node has a step: folded ones have none, and neither have views and fused ones, unless
 * their inputs may get another place or shape under way, and they have to follow. */
static inline bool ml_has_step(const ml_node_plan *row, bool dynamic) {
    bool computes = row->status == ML_NODE_RUNS || row->status == ML_NODE_WAITS;
    return row->status != ML_NODE_FOLDED && (computes || dynamic);
}

/* What the frames of a node's subgraphs have of its scratch. */
static inline int64_t ml_room_of(const ml_residence *r, int32_t frame, int32_t node) {
    const ml_graph *g = r->plan->graph;
    if (!r->learnt) return ml_children_room(g, r->rows, frame, node);
    if (ml_frame_subgraph(g, frame)->nodes[node].n_children == 0) return 0;
    return r->learnt->alone[ml_child_frame(g, frame, node, 0)].offered;
}

static inline ml_tensor *ml_now_tensors(const ml_residence *r, int32_t frame) {
    return r->rows->tensors + r->plan->graph->frames[frame].slot_base;
}
static inline void **ml_now_data(const ml_residence *r, int32_t frame) {
    const ml_graph *g = r->plan->graph;
    return (void **)(uintptr_t)(r->frames + g->n_frames) + g->frames[frame].tensor_base;
}

#endif
