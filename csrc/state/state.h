/* state.h -- what runs change: interpreters, states, and residences, a plan in a state's memory. */
#ifndef ML_STATE_STATE_H
#define ML_STATE_STATE_H

#include "memory/account.h"
#include "plan/plan.h"
#include "threads/pool.h"

/* Interpreter ---------------------------------------------------------------------------------- */

/* A block outside the arena: resource variables, carries of loops whose shapes change, values of no
 * fixed size. It keeps its room from run to run. */
typedef struct ml_block {
    void *data;
    int64_t capacity;
    int64_t bytes;
    ml_shape shape;
    int32_t type;
    bool assigned;
} ml_block;

/* Work in more than one block, which threads can share, done by runs that were timed. */
typedef struct ml_work_time {
    int64_t ns;
    int64_t blocks;
} ml_work_time;

/* Whose turn it is: nobody's, a copy's in or out of a tensor, or a call's that changes things. */
enum { ML_TURN_FREE = 0, ML_TURN_COPY = 1, ML_TURN_CALL = 2 };

struct ml_interpreter {
    atomic_int holders;
    atomic_int turn;
    atomic_uint_fast64_t sequence; /* odd while a call has the turn */
    atomic_int cancel;
    int32_t n_resources;
    int32_t n_subgraphs;
    int32_t threads;
    ml_block *resources;
    bool *called_once; /* by subgraph */
    ml_account account; /* of all memory that tensors take, and the scratch of workers */
    int64_t max_iterations; /* of a WHILE; 0 = any */
    /* Made by the first plan that asks for workers' scratch, or by the second thread. */
    ml_pool *pool;
};

ml_interpreter *ml_interpreter_hold(ml_interpreter *interpreter);
/* Takes the turn of a call: waits for copies, ML_BUSY while another call has it. */
ml_status ml_enter(ml_interpreter *interpreter);
/* Takes the turn of a copy: waits for other copies, ML_BUSY while a call has it. */
ml_status ml_enter_copy(ml_interpreter *interpreter);
void ml_leave(ml_interpreter *interpreter);

/* The pool, with scratch for `worker_bytes` a worker; NULL, and the error, without memory. */
ml_pool *ml_interpreter_pool(ml_interpreter *interpreter, int64_t worker_bytes, ml_error *error);

/* blocks.c, counted in the account of the block's interpreter: makes room for `bytes`, dropping the
 * content. */
ml_status ml_block_reserve(ml_account *account, ml_block *block, int64_t bytes, ml_error *error);
ml_status ml_block_set(ml_account *account, ml_block *block, const ml_shape *shape, int32_t type,
                       const void *data, int64_t bytes, ml_error *error);
/* Leaves a block the room of its value, none without one. */
void ml_block_fit(ml_account *account, ml_block *block);
void ml_block_free(ml_account *account, ml_block *block);
int64_t ml_blocks_bytes(const ml_block *blocks, int64_t count);
void ml_blocks_free(ml_account *account, ml_block *blocks, int64_t count);

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

/* Residence ------------------------------------------------------------------------------------ */

typedef struct ml_step {
    ml_status (*eval)(const ml_call *call);
    ml_call call;
} ml_step;

typedef struct ml_frame_now {
    uint8_t *region;
    int32_t first_step;
    uint32_t n_steps : 31;
    /* It outgrew its caller's scratch in mid-run and lies in the state's spill. */
    uint32_t spilled : 1;
} ml_frame_now;

/* A record that a run placed by itself, behind what was planned: a tensor, or n_tensors plus a
 * node's position for scratch. */
typedef struct ml_alone {
    int64_t offset;
    int64_t size; /* a multiple of the alignment */
    int32_t id;
    int32_t first;
    int32_t last;
} ml_alone;

/* The records of a frame that lie alone. A run walks the frame in order, so those that are dead at
 * the node reached are moved behind `live`, and looked at no more until the frame is run again. */
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
    ml_frame_now frames[]; /* then pointers by tensor of all frames, then the steps */
} ml_residence;

/* When the arena gives back what a big size has left behind. What the last one to two windows of
 * runs needed stays, and nothing goes unless more than half, and a MiB, is spare. A window after
 * which memory had to be taken again was too short: the next is twice as long. Hysteresis in two
 * directions: sizes that take turns settle within a few windows. */
typedef struct ml_tide {
    int64_t most; /* bytes needed in this window */
    int64_t before; /* in the one before */
    int32_t left; /* runs until it ends */
    int32_t window; /* runs; 0 = none has begun */
    bool gave; /* since it was last taken */
} ml_tide;

/* State ---------------------------------------------------------------------------------------- */

enum { ML_BUCKETS = 64 };

/* A tensor whose shape was asked for, now or earlier. */
typedef struct ml_ask {
    int32_t tensor;
    bool pending; /* since a plan was put in force, be it the shape in force */
    bool planned; /* `plan` is what the plan under way is made for */
    bool stands; /* `now` is what the plan in force was made for */
    ml_shape shape;
    ml_shape plan;
    ml_shape now;
} ml_ask;

/* All of them; threads that ask meet here alone. */
typedef struct ml_asked {
    atomic_flag taken;
    ml_ask *rows; /* by ascending tensor */
    int32_t count;
    int32_t room;
    int32_t *spec; /* the key of the plan under way; whoever has the turn writes it */
    int32_t words;
    int32_t spec_room;
} ml_asked;

struct ml_state {
    ml_graph *graph;
    ml_interpreter *interpreter;
    ml_hooks hooks;
    const struct ml_simd *simd;
    int32_t strategy; /* its place in the table */
    int32_t options;
    atomic_int holders; /* the caller and every view: a collector may finalize them in any order */
    atomic_int pinned; /* views of the arena that are alive */
    ml_arena arena;
    ml_tide tide;
    bool fresh; /* memory was taken since the last run */
    ml_arena *spills; /* by frame: memory of frames that outgrew their caller's scratch */
    uint8_t *persistent;
    int64_t persistent_capacity;
    uint8_t *work; /* ML_WORK_BYTES */
    uint8_t *node_memory; /* graph->memory_bytes */
    ml_block *heap; /* by slot; NULL where the graph has no tensor of no fixed size */
    ml_block *carries; /* two by slot; made by the first loop whose carries change shape */
    ml_need *needs; /* by slot: what dynamic tensors needed; made with the
    first residence that has such */
    ml_need *scratch_needs; /* by node, behind them */
    ml_asked asked;
    ml_binding *bound; /* of frame 0, in force, by ascending tensor */
    ml_frame_planner *planners; /* by frame */
    int32_t n_bound;
    int32_t n_cached;
    int64_t cached_bytes;
    int64_t cache_bytes;
    ml_residence *now; /* in force, also in its bucket */
    ml_engine engine; /* its rows are those of the residence in force */
    struct ml_frame_engine *frame_engines; /* by frame */
    ml_env *envs; /* by frame: what calls of steps point at, whichever residence they are of */
    ml_env *blind; /* the same without values */
    ml_residence **buckets;
    int32_t n_buckets;
    ml_residence *first_buckets[ML_BUCKETS]; /* until there are more residences */
    ml_residence *oldest, *newest; /* by last use */
    int64_t ticks;
    int64_t poll_at; /* ns of the monotonic clock */
    /* ML_LAYOUT, ML_GENERATION of the residence in force; Python reads them without the turn. */
    _Atomic uint64_t changes[2];
    uint64_t generations; /* given out so far */
    bool run_changed; /* the run under way: a shape or place of a dynamic tensor */
    ml_counters counters;
    ml_node_time *times; /* of the run under way, the caller's; NULL: it is not timed */
    ml_work_time shared;
    ml_error error; /* of the call under way: what all calls of kernels point at */
};

/* asked.c: writes the key of the plan for what is asked for, but for the shapes in `rows`, to
 * asked.spec; *resized says whether shapes were asked for since a plan was put in force. */
ml_status ml_asked_spec(ml_state *state, const int32_t *rows, int32_t words, bool *resized,
                        ml_error *error);
/* The plan of that key is in force, or is refused: then what was asked for is what is in force. */
void ml_asked_stands(ml_state *state);
void ml_asked_refused(ml_state *state);
void ml_asked_free(ml_state *state);

/* cache.c */
ml_residence *ml_cache_find(ml_state *state, const ml_plan_request *request);
void ml_cache_add(ml_state *state, ml_residence *residence);
void ml_cache_use(ml_state *state, ml_residence *residence);
/* Drops what was longest unused until the bound is kept; never the residence in force. */
void ml_cache_evict(ml_state *state);
void ml_cache_drop_all_but(ml_state *state, const ml_residence *kept);
/* The default planner searches for about 0.2 us a record. A plan that it left above its bound gets
 * the rest of 200 us when its shapes come back, once; a smaller one takes its place, as a new plan.
 * Returns the residence that the cache has then. */
ml_residence *ml_cache_improve(ml_state *state, ml_residence *residence);

/* residence.c */
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

/* memory.c: variables, and what kernels keep, as they are before the first run. */
void ml_begin_variables(ml_state *state, const ml_residence *residence);

/* resolve.c: makes the residence the one that calls of kernels see. */
void ml_enter_residence(ml_state *state, ml_residence *residence);
/* Whether all its pointers are right, but for those into loose memory. */
bool ml_stands(const ml_state *state, const ml_residence *residence);
/* Points every tensor and step of the residence in force into the state's memory. `like` is another
 * residence of the state, whose steps may do as well, or NULL. */
void ml_resolve(ml_state *state, ml_residence *residence, const ml_residence *like);
/* The caller's buffers, and values of no fixed size. */
void ml_resolve_loose(ml_state *state, ml_residence *residence);
/* In the frame and those below it, points into [from, from + bytes) become points into `to`. */
void ml_relocate(ml_state *state, ml_residence *residence, int32_t frame, const uint8_t *from,
                 int64_t bytes, uint8_t *to);
/* What a step runs once its shapes are settled. */
ml_status (*ml_eval_of(const ml_node *node, const ml_node_plan *row))(const ml_call *call);

/* bound.c: whether every buffer holds its tensor: all of it, and at no time another live tensor's
 * bytes. */
ml_status ml_bound_check(const ml_plan *plan, const ml_rows *rows, const ml_binding *bound,
                         int32_t n_bound, ml_error *error);
/* The bytes of one tensor alone: what a run asks when shapes change under it. */
ml_status ml_bound_check_bytes(const ml_state *state, const ml_residence *residence, int32_t tensor,
                               ml_error *error);

/* memory.c: notes that the arena is needed up to `bytes`, of which it had `had`. */
void ml_arena_needed(ml_state *state, int64_t bytes, int64_t had);
/* Ends a window of runs: gives back what was long not needed. */
void ml_turn_tide(ml_state *state);
/* memory.c: takes all memory that a residence needs, or none. */
ml_status ml_acquire(ml_state *state, const ml_residence *residence, ml_error *error);

/* heap.c: the block of a tensor of no fixed size; NULL for others. */
ml_block *ml_heap_block(const ml_state *state, const ml_residence *residence, int32_t frame,
                        int32_t tensor);
/* Blocks by slot of the main subgraph for inputs and variables whose shapes the residence changes,
 * NULL where there are none; then what can fail no more: they take their places, and what nodes
 * computed is forgotten. */
ml_status ml_heap_acquire(const ml_state *state, const ml_residence *residence, ml_block **fresh,
                          ml_error *error);
void ml_heap_enter(ml_state *state, const ml_residence *residence, ml_block *fresh);
void ml_heap_reset_variables(ml_state *state);
/* Gives back the room that no value takes, and what runs alone need. Pointers have to be resolved
 * afterwards. */
void ml_heap_trim(ml_state *state);

/* A run has changed shapes or places of dynamic tensors. */
static inline void ml_run_changed(ml_state *s) {
    uint64_t number = ++s->generations;
    atomic_store_explicit(&s->changes[ML_GENERATION], number, memory_order_relaxed);
    if (s->now) s->now->changes[ML_GENERATION] = number;
}

/* Any pointer or shape of the residence in force may not be what it was. */
static inline void ml_changed(ml_state *s) {
    ml_run_changed(s);
    atomic_store_explicit(&s->changes[ML_LAYOUT], s->generations, memory_order_relaxed);
    if (s->now) s->now->changes[ML_LAYOUT] = s->generations;
}

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
