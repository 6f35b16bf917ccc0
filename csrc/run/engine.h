/* engine.h -- what graph.c, plan.c, state.c, run.c and the control-flow kernels share; nobody else includes it. */
#ifndef ML_ENGINE_H
#define ML_ENGINE_H

#include <stdatomic.h>

#include "core/error.h"
#include "graph/store.h"
#include "kernel.h"

enum { ML_ALIGNMENT = 64, ML_MAX_FRAMES = 4096, ML_CACHED_PLANS = 16 };
/* Scratch of up to this many bytes comes from the state's work block, one for all nodes; more of it is planned in the arena. */
enum { ML_WORK_BYTES = 64 * 1024 };

/* Makes every node's derived block. */
ml_status ml_graph_derive(ml_graph *graph, ml_error *error);
ml_graph *ml_graph_hold(const ml_graph *graph);

/* Graph: immutable. ------------------------------------------------------------------------------------------------ */

typedef struct ml_node {
    const ml_kernel *kernel;
    const ml_typed *typed; /* NULL: runs in Python */
    const void *params;
    void *derived;
    const ml_node_io *io;
    int64_t blob_start; /* in its frame's blobs */
    int32_t index; /* the file's node number */
    int32_t handler;
    int32_t subgraphs[2];
} ml_node;

typedef struct ml_subgraph {
    ml_tensor_def *tensors;
    ml_node *nodes;
    ml_planner_graph io;
    int64_t blob_bytes;
} ml_subgraph;

/* A place a subgraph is run from. Its tensors stand at tensor_base + t in every table of total_tensors; tensor_base - 1
 * is the absent tensor. Frames of a node's subgraphs are numbered children[node_base + node][0..1]. */
typedef struct ml_frame {
    int32_t subgraph;
    int32_t parent; /* -1 for frame 0 */
    int32_t parent_node;
    int32_t tensor_base;
    int32_t node_base;
    int32_t reserved;
    int64_t blob_base;
} ml_frame;

struct ml_graph {
    atomic_int holders; /* the caller, states and plans: they may be freed in any order */
    ml_subgraph *subgraphs;
    ml_frame *frames;
    int32_t (*children)[2];
    ml_tensor_def *tensor_defs;
    ml_node *nodes;
    ml_node_io *node_io;
    int32_t *io;
    uint8_t *params;
    int64_t blob_bytes;
    int64_t n_nodes; /* of all subgraphs */
    int32_t n_subgraphs;
    int32_t n_frames;
    int32_t total_tensors;
    int32_t total_nodes;
    int32_t n_resources;
    ml_quantization *quantizations;
    ml_store *store;
    ml_store *own; /* for constants that are not the file's */
    bool planned_offline; /* some tensor has an offline offset */
};

/* Plan: what hangs on shapes. ------------------------------------------------------------------------------------------ */

typedef enum {
    ML_NODE_WAITS = 0,
    ML_NODE_RUNS = 1,
    ML_NODE_FOLDED = 2,
    ML_NODE_IS_VIEW = 3
} ml_node_status;

typedef struct ml_node_plan {
    int64_t scratch_bytes;
    const void *packed; /* its constant weights, in the store */
    int64_t
        pack_offset; /* in scratch: where weights computed at run time are packed; -1 = they are not */
    uint8_t status; /* ml_node_status */
    uint8_t dynamic; /* its prepare needs run-time values */
    uint8_t open; /* even with them: eval gives the shapes */
} ml_node_plan;

typedef struct ml_frame_plan {
    ml_planner *planner;
    int64_t region_bytes; /* peak of the frame, in its caller's scratch (frame 0: in the arena) */
    int64_t
        room; /* what the caller's scratch offers; a frame that outgrew it has memory of its own (spill) */
    int64_t persistent_start; /* of its variable tensors, in the state's persistent memory */
} ml_frame_plan;

typedef struct ml_pool {
    struct ml_pool *next;
    int64_t used;
    uint8_t bytes[4096];
} ml_pool;

struct ml_plan {
    const ml_graph *graph;
    ml_tensor *tensors;
    ml_node_plan *nodes;
    ml_frame_plan *frames;
    uint8_t *blobs;
    ml_pool *folded;
    int32_t *spec; /* the key: rows of [tensor, rank, dims...] */
    int32_t words;
    int32_t n_bound; /* tensors whose memory is the caller's; part of the key */
    int64_t persistent_bytes;
    int64_t lower_bound;
    int64_t work_bytes; /* of the work block its nodes need, at most ML_WORK_BYTES */
    int64_t used; /* state->clock at last use */
    atomic_int holders;
    /* What the plan resolved to when it was last in force; good again while memory lies where it lay. */
    void **data;
    struct ml_step *steps;
    int32_t n_steps; /* of frame 0 */
    const uint8_t *at_base;
    const uint8_t *at_persistent;
    bool improved; /* a longer search was given its chance */
    bool broken; /* a run failed half-way through re-preparing: prepare again before the next run */
};

/* Everything the sweep needs beside the plan it fills. */
typedef struct ml_prepare_context {
    ml_plan *plan;
    ml_state *state;
    ml_error *error;
} ml_prepare_context;

/* What env->engine points at. */
struct ml_frame_engine {
    const ml_graph *graph;
    ml_plan *plan;
    ml_state *state;
    int32_t frame;
    int32_t subgraph;
};
extern const ml_core ml_core_table;

ml_status ml_plan_new(ml_state *state, const int32_t *spec, int32_t words, ml_plan **plan,
                      ml_error *error);
/* Whether a node's scratch is planned in the arena: it is large, or subgraphs live in it. */
static inline bool ml_scratch_in_arena(const ml_node *node, const ml_node_plan *np) {
    return np->scratch_bytes > ML_WORK_BYTES ||
           (np->scratch_bytes > 0 && node->kernel->flags & ML_KERNEL_HAS_EFFECTS);
}
/* Gives a frame's tensors what the file says of them. */
void ml_plan_reset_tensors(ml_plan *plan, int32_t frame);
/* Prepares one node of a frame; `data` holds run-time pointers once the node is reached, else NULL. */
ml_status ml_plan_prepare_node(ml_prepare_context *context, int32_t frame, int32_t node,
                               void **data);
/* Prepares every node of a frame whose inputs have their shapes. */
ml_status ml_plan_sweep(ml_prepare_context *context, int32_t frame);
/* Lifetimes and offsets of a frame; sets region_bytes. */
ml_status ml_plan_place(ml_prepare_context *context, int32_t frame);
/* Copies the planner's answers into the frame's tensors. */
void ml_plan_take_offsets(ml_plan *plan, int32_t frame);
static inline ml_tensor *ml_frame_tensors(const ml_plan *plan, int32_t frame) {
    return plan->tensors + plan->graph->frames[frame].tensor_base;
}

/* Control flow in prepare: gives the subgraph in place `child` of this node its input shapes and sweeps it. The kernel then
 * marks the tensors it will place itself (storage SLOT) and calls ml_child_place, which returns the region's bytes. */
int32_t ml_child_frame(const ml_call *c, int child);
ml_status ml_child_sweep(const ml_call *c, int child, const ml_shape *const *shapes, int32_t count);
ml_status ml_child_place(const ml_call *c, int child, int64_t *region_bytes);

/* State: one interpreter. -------------------------------------------------------------------------------------------- */

typedef struct ml_step {
    ml_status (*eval)(const ml_call *call);
    ml_call call;
    int32_t ticks; /* about 4 KiB of operands each */
    int32_t reserved;
} ml_step;

typedef struct ml_frame_state {
    uint8_t *region;
    uint8_t *spill; /* own memory, when the frame outgrew its region in mid-run */
    int64_t spill_bytes;
    int32_t n_steps;
    int32_t current;
} ml_frame_state;

/* A block the state owns outside the arena: resource variables, carries of loops whose shapes change. */
typedef struct ml_buffer {
    void *data;
    int64_t capacity;
    ml_shape shape;
    int32_t type;
    int64_t bytes;
    bool assigned;
} ml_buffer;

typedef struct ml_prediction {
    ml_shape shape;
    int64_t capacity;
    bool known;
} ml_prediction;

struct ml_state {
    ml_graph *graph;
    ml_hooks hooks;
    char strategy[32];
    int32_t options;
    ml_arena arena;
    uint8_t *persistent;
    int64_t persistent_capacity;
    uint8_t *work; /* ML_WORK_BYTES */
    void **data; /* by total tensor; the plan's in force */
    ml_step *steps; /* by total node; the plan's in force */
    ml_env *envs; /* by frame */
    struct ml_frame_engine *engines;
    ml_frame_state *frames;
    ml_buffer *resources;
    ml_buffer *carries; /* two per total tensor; made by the first loop whose carry changes shape */
    ml_prediction *predictions; /* by total tensor; made by the first dynamic tensor */
    ml_binding *bound; /* of frame 0, in force; NULL while nothing is bound */
    int32_t n_bound;
    bool *called_once; /* by subgraph */
    ml_plan *plan; /* in force, also in `plans` */
    ml_plan *plans[ML_CACHED_PLANS];
    ml_plan *resolved; /* the plan `data` and `steps` were made for */
    int32_t pinned;
    int64_t clock;
    int64_t ticks;
    int64_t poll_at; /* ns of the monotonic clock */
    uint64_t generation;
    ml_counters counters;
    ml_error *error; /* of the call under way */
    atomic_int running;
    atomic_int cancel;
};

/* Whether a child frame needs more than its caller's scratch gives it, so that it has a block of its own. */
static inline bool ml_outgrew_room(const ml_plan *plan, int32_t frame) {
    return plan->frames[frame].region_bytes > plan->frames[frame].room;
}
/* Points every tensor of the frame (and of frames below) into its memory and lays out its steps. */
void ml_bind_frame(ml_state *state, int32_t frame, uint8_t *region);
/* The caller's buffers alone. */
void ml_bind_buffers(ml_state *state);
/* The pointers alone, of this frame alone. */
void ml_bind_pointers(ml_state *state, int32_t frame);
/* Lays out the steps of a frame from position `step` on, starting with node `node`. */
void ml_bind_steps(ml_state *state, int32_t frame, int32_t step, int32_t node);
/* In the frame and those below it, points into [from, from + bytes) become points into `to`. */
void ml_relocate(ml_state *state, int32_t frame, uint8_t *from, int64_t bytes, uint8_t *to);
/* buffers.c: marks the tensors that buffers stand in for, in a new plan. */
ml_status ml_mark_bound(ml_prepare_context *context);
/* Whether a plan was made for the tensors that are bound in `state`. */
bool ml_same_bound(const ml_state *state, const ml_plan *plan);
/* Whether every buffer of `state` holds its tensor in this plan: all of it, and at no time another live tensor's bytes. */
ml_status ml_check_bound(const ml_state *state, const ml_plan *plan, ml_error *error);
/* The bytes alone: what a run asks when shapes change under it. */
ml_status ml_check_bound_bytes(const ml_state *state, const ml_plan *plan, ml_error *error);
/* Makes room for `bytes` in a buffer, dropping its content. */
ml_status ml_buffer_reserve(ml_buffer *buffer, int64_t bytes, ml_error *error);
ml_status ml_buffer_set(ml_buffer *buffer, const ml_tensor *tensor, const void *data,
                        ml_error *error);

/* The buffers of loops whose carries change shape; made once. */
ml_status ml_make_carries(ml_state *state);
/* Makes sure that a frame's own memory holds `bytes`, dropping its content. */
ml_status ml_reserve_spill(ml_state *state, int32_t frame, int64_t bytes, ml_error *error);
/* Binds a child frame that was prepared anew in mid-run: in its caller's scratch when it fits there, else in its own memory. */
ml_status ml_give_region(ml_state *state, int32_t frame, void *scratch);
/* Lets Python handle signals every 50 ms of work; spends `ticks` of the budget between two looks at the clock. */
ml_status ml_check_interrupt(ml_state *state, int32_t ticks);
/* Runs a frame; its region and steps are bound. */
ml_status ml_run_frame(ml_state *state, int32_t frame);
/* Eval of nodes whose shapes hang on run-time values: prepare with values, settle, compute. */
ml_status ml_run_dynamic(const ml_call *call);
/* Eval of nodes whose weights are computed at run time: packs them first. */
ml_status ml_run_packing(const ml_call *call);
/* Eval through the hook. */
ml_status ml_run_python(const ml_call *call);

#endif
