/* residence.h -- a residence: a plan in the memory of a state, with its pointers and steps, and
 * with what runs learn about it. */
#ifndef ML_STATE_RESIDENCE_H
#define ML_STATE_RESIDENCE_H

#include "plan/late.h"
#include "plan/layout.h"
#include "plan/plan.h"

typedef ml_status (*ml_eval_fn)(const ml_call *call);

typedef struct ml_step {
    ml_eval_fn eval;
    ml_call call;
} ml_step;

typedef struct ml_frame_now {
    uint8_t *region;
    int32_t first_step;
    int32_t n_steps;
    /* During a run it outgrew its caller's scratch; it lies in the state's spill. */
    bool spilled;
    /* The body of a loop whose carried values change shape: which of their two blocks it writes. */
    uint8_t writes;
} ml_frame_now;

/* The knowledge that runs gain about a plan with dynamic tensors. One block, except for the records
 * in `late`. */
typedef struct ml_learnt {
    ml_rows rows;
    int32_t *steps; /* by node of all frames: its step, -1 = none */
    ml_late_records *late; /* by frame */
    bool refused; /* the last run lacked memory: the next one tries to place everything again */
    bool grew; /* records were added to `late` since the last placement */
} ml_learnt;

/* Decides whether runs of a plan keep to the caller's thread (run/sharing.c). */
typedef struct ml_sharing {
    uint32_t fastest[2]; /* ns, in the last tries: with the other threads, alone */
    uint16_t turn; /* runs since the last tries began */
    bool alone; /* the result of the tries */
} ml_sharing;

/* One block, except for `learnt`. While `resolved`, its pointers are those for the places that
 * arena and spills had when they were made. */
typedef struct ml_residence {
    struct ml_residence *next; /* in the same bucket */
    struct ml_residence *older, *newer; /* by last use */
    ml_plan *plan;
    ml_rows *rows; /* the plan's own tables, or copies that runs write */
    ml_learnt *learnt; /* NULL: the plan has no dynamic tensor, rows are its own */
    ml_step *steps; /* of all frames, one per node that has to run */
    const uint8_t *at_persistent; /* where variables lay when pointers were made */
    const uint8_t *at_inputs; /* likewise inputs */
    uint64_t changes[2]; /* numbers of the state when a pointer or a shape last changed */
    bool resolved;
    bool improved; /* the longer search was tried */
    bool ran; /* since it was put into use */
    ml_sharing sharing;
    ml_frame_now frames[]; /* then pointers by tensor of all frames, then the steps */
} ml_residence;

ml_status ml_residence_new(ml_state *state, ml_plan *plan, ml_residence **residence,
                           ml_error *error);
void ml_residence_free(ml_residence *residence);
/* Copies the pointers of another residence of the graph. */
void ml_residence_copy_pointers(ml_residence *to, const ml_residence *from);
/* The bytes that the cache counts: the plan and its tables. Records in `late` are not counted,
 * because the next placement drops them. */
int64_t ml_residence_bytes(const ml_residence *residence);
/* Forgets what runs needed of dynamic tensors. Each run had memory for that, but there may be none
 * for all that several runs needed together. */
void ml_needs_forget(ml_state *state);
/* Places a residence, which is not in use, without what earlier runs needed, and forgets that.
 * False without dynamic tensors, or without memory. */
bool ml_residence_forget(ml_state *state, ml_residence *residence);
/* Places a residence with dynamic tensors again, with the capacities that runs have learnt, and
 * takes the memory for it. Without memory it returns false, and nothing has changed. Pointers have
 * to be resolved afterwards. */
bool ml_residence_renew(ml_state *state, ml_residence *residence);

/* True if a node has a step. Folded nodes have none, nor those that the last of a tile group runs.
 * Nodes with nothing to compute have one only if runs may change the place or the shape of their
 * inputs, so that they have to follow. */
static inline bool ml_has_step(const ml_node_plan *row, bool dynamic) {
    bool computes = row->status == ML_NODE_RUNS || row->status == ML_NODE_WAITS ||
                    row->status == ML_NODE_RUNS_PATCHES;
    bool never = row->status == ML_NODE_FOLDED || row->status == ML_NODE_IN_PATCHES;
    return !never && (computes || dynamic);
}

static inline ml_tensor *ml_now_tensors(const ml_residence *r, int32_t frame) {
    return r->rows->tensors + r->plan->graph->frames[frame].slot_base;
}
static inline void **ml_now_data(const ml_residence *r, int32_t frame) {
    const ml_graph *g = r->plan->graph;
    return (void **)(uintptr_t)(r->frames + g->n_frames) + g->frames[frame].tensor_base;
}

#endif
