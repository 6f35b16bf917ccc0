/* plan.h -- ml_plan and the rows it is made of; preparing nodes, for a plan or for a residence.
 *
 * Rows are what preparing writes: shapes, blobs, folded values, places. A plan's rows never change
 * once it is made. A residence of a plan with dynamic tensors starts with a copy of them, which its
 * runs write. */
#ifndef ML_PLAN_PLAN_H
#define ML_PLAN_PLAN_H

#include "graph/engine.h"

enum { ML_ALIGNMENT = 64 };
/* Scratch of up to this many bytes comes from the state's work block, one for all nodes; more of it
 * is planned in the arena. */
enum { ML_WORK_BYTES = 64 * 1024 };

/* Scratch is counted in blocks of ML_ALIGNMENT bytes. */
typedef struct ml_node_plan {
    /* In its frame's region, children's room first; -1: in the work block, or none. */
    int32_t scratch_block;
    uint32_t scratch_blocks; /* of the kernel's own, packing included */
    uint8_t status; /* ml_node_status */
    uint8_t ticks; /* about 4 KiB of operands each, when its shapes were known first; at least 1 */
    bool open; /* its shapes hang on values: prepared whenever it is reached */
    bool packs_in_run : 1; /* its weights are computed at run time */
    bool stale : 1; /* not prepared for the shapes it reads now */
} ml_node_plan;

static inline int64_t ml_scratch_bytes(const ml_node_plan *row) {
    return (int64_t)row->scratch_blocks * ML_ALIGNMENT;
}
static inline int64_t ml_scratch_offset(const ml_node_plan *row) {
    return row->scratch_block < 0 ? -1 : (int64_t)row->scratch_block * ML_ALIGNMENT;
}

/* Weights in the layout of the level. Which of the two it is, packs_in_run of the node's row says,
 * so it is read by ml_constant_weights and ml_computed_weights alone. */
typedef union ml_packed {
    const void *weights; /* constant ones, in a store */
    int64_t offset; /* packs_in_run: where in the node's own scratch */
} ml_packed;

typedef struct ml_frame_plan {
    int64_t region_bytes; /* peak of the frame, in its caller's scratch (frame 0: in the arena) */
    int64_t lower_bound;
    int64_t persistent_start; /* of its variable tensors, in the state's persistent memory */
} ml_frame_plan;

typedef struct ml_folded {
    struct ml_folded *next;
    int64_t used;
    uint8_t bytes[];
} ml_folded;

/* One block, which begins with the frames. */
typedef struct ml_rows {
    ml_frame_plan *frames;
    ml_packed *packed; /* of nodes that pack weights */
    ml_node_plan *nodes;
    ml_tensor *tensors; /* by slot, all frames */
    uint8_t *blobs;
    int64_t persistent_bytes;
    int64_t worker_bytes; /* of scratch that every thread needs */
} ml_rows;

/* A bound tensor, and when it is live. */
typedef struct ml_bound_life {
    int32_t tensor;
    int32_t first;
    int32_t last;
} ml_bound_life;

/* One block, rows included. */
struct ml_plan {
    atomic_int holders;
    uint32_t hash; /* of the key */
    const ml_graph *graph;
    ml_rows rows;
    ml_plan *source; /* of a copy: whose folded values it shares; held */
    union {
        ml_folded *folded; /* NULL in copies */
        int64_t *capacities; /* has_capacities: bytes planned by slot, of a residence's copy */
    };
#ifdef ML_DEBUG
    int32_t *deaths; /* by slot, the last node of its root's life */
#endif
    uint32_t options : 24;
    uint32_t strategy : 8; /* its place in the table */
    uint32_t n_bound : 30;
    uint32_t dynamic : 1; /* some node is open or waits */
    uint32_t has_capacities : 1;
    int32_t words; /* of the key's shapes */
    int32_t key[]; /* shapes: rows of [tensor, rank, dims...]; then the bound tensors */
};

/* Tensors whose memory is the caller's, by ascending number; part of the key. */
static inline ml_bound_life *ml_plan_bound(const ml_plan *p) {
    return (ml_bound_life *)(uintptr_t)(p->key + p->words);
}

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

/* What a plan is made from. */
typedef struct ml_plan_request {
    const ml_graph *graph;
    int32_t strategy; /* its place in the table */
    int32_t options;
    uint32_t hash; /* of the key: of spec and bound */
    const int32_t *spec;
    int32_t words;
    const ml_binding *bound;
    int32_t n_bound;
    const ml_hooks *hooks;
    const struct ml_simd *simd;
    ml_counters *counters;
    ml_frame_planner *planners; /* of the state, by frame */
} ml_plan_request;

ml_status ml_plan_new(const ml_plan_request *request, ml_plan **plan, ml_error *error);
ml_plan *ml_plan_hold(ml_plan *plan);
/* A plan of the same key with a copy of `rows`, which are the plan's own or a residence's. */
ml_status ml_plan_copy(ml_plan *plan, const ml_rows *rows, ml_plan **copy, ml_error *error);
uint32_t ml_plan_hash(const int32_t *spec, int32_t words, const ml_binding *bound, int32_t n_bound);
bool ml_plan_has_key(const ml_plan *plan, const ml_plan_request *request);

/* Rows. */
/* Points at tables in `memory`, which has ml_rows_bytes and is aligned for an int64_t. */
ml_rows ml_rows_in(void *memory, const ml_graph *graph);
void ml_rows_copy(ml_rows *to, const ml_rows *from, const ml_graph *graph);
int64_t ml_rows_bytes(const ml_graph *graph);
/* Of a plan's block. */
int64_t ml_plan_block_bytes(const ml_graph *graph, int32_t words, int32_t n_bound);
/* A tensor's row in a frame: the graph's for constants. */
static inline const ml_tensor *ml_row_of(const ml_graph *g, const ml_rows *rows, int32_t frame,
                                         int32_t tensor) {
    const ml_subgraph *sub = ml_frame_subgraph(g, frame);
    int32_t at = sub->slots[tensor];
    return at >= 0 ? &rows->tensors[g->frames[frame].slot_base + at] : &sub->constants[~at];
}

static inline ml_packed *ml_packed_of(const ml_graph *g, const ml_rows *rows, int32_t frame,
                                      int32_t node) {
    int32_t at = ml_frame_subgraph(g, frame)->nodes[node].pack_start;
    return at < 0 ? NULL : &rows->packed[g->frames[frame].pack_base + at];
}
/* The node's constant weights, packed; NULL for those that pack none, or pack in runs. */
static inline const void *ml_constant_weights(const ml_graph *g, const ml_rows *rows, int32_t frame,
                                              int32_t node) {
    const ml_packed *packed = ml_packed_of(g, rows, frame, node);
    return packed && !rows->nodes[g->frames[frame].node_base + node].packs_in_run ? packed->weights
                                                                                  : NULL;
}
/* Where in its scratch the node packs weights in runs; -1 for those that do not. */
static inline int64_t ml_computed_weights(const ml_graph *g, const ml_rows *rows, int32_t frame,
                                          int32_t node) {
    const ml_packed *packed = ml_packed_of(g, rows, frame, node);
    return packed && rows->nodes[g->frames[frame].node_base + node].packs_in_run ? packed->offset
                                                                                 : -1;
}
/* sweep.c: what a node of a frame sees. */
ml_env ml_frame_env(const ml_engine *engine, struct ml_frame_engine *frame_engine);
/* Gives a frame's tensors what the file says of them; inputs and computed ones have no shape
 * yet. */
void ml_sweep_reset(ml_engine *engine, int32_t frame);
/* Prepares every stale node of a frame whose inputs have their shapes; the others wait. */
ml_status ml_sweep_frame(ml_engine *engine, int32_t frame);
/* Calls the kernel's prepare and reserves what pack needs; `row` is the node's, `wish` says what it
 * asked for. Notes where it failed. */
ml_status ml_prepare_call(ml_engine *engine, const ml_call *call, ml_node_plan *row, ml_wish *wish);
/* The call of a node of the environment's frame. */
static inline ml_call ml_call_of(const ml_engine *engine, const ml_env *env, int32_t n) {
    const struct ml_frame_engine *fe = env->engine;
    const ml_node *node = &fe->nodes[n];
    return (ml_call){.params = node->params,
                     .blob = engine->rows->blobs + fe->place->blob_base + node->blob_start,
                     .derived = node->derived,
                     .inputs = node->io->inputs,
                     .env = env,
                     .n_inputs = (uint16_t)node->io->n_inputs,
                     .n_outputs = (uint16_t)node->io->n_outputs,
                     .node = (uint32_t)n & (ML_MOST_NODES - 1)};
}
/* fold.c: computes a node whose inputs are known; *folded says whether it did. */
ml_status ml_fold(ml_engine *engine, const ml_call *call, const ml_wish *wish, int32_t frame,
                  bool *folded);
/* Fills in where an error happened, once. */
ml_status ml_blame(ml_error *error, const ml_graph *graph, int32_t frame, int32_t node,
                   ml_status status);

/* place.c: lifetimes and offsets of all frames, callees first; `capacities` (by slot) stand in for
 * the bytes of dynamic tensors where they are larger. */
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
