/* state.h -- ml_state: one signature in use: its memory, its residences, and the shapes requested
 * for it. */
#ifndef ML_STATE_STATE_H
#define ML_STATE_STATE_H

#include "state/interpreter.h"
#include "state/residence.h"

/* Times of work that threads can share (more than one block), from timed runs. */
typedef struct ml_work_time {
    int64_t ns;
    int64_t blocks;
} ml_work_time;

/* Decides when the arena gives back memory that only a large size needed. The memory needed in the
 * last one to two windows of runs stays, and nothing is given back unless more than half of the
 * arena, and at least a MiB, is spare. If memory had to be taken again after a window, the window
 * was too short, and the next is twice as long. So sizes that alternate stop giving memory back
 * after a few windows. */
typedef struct ml_trim_window {
    int64_t most[2]; /* bytes needed in this window, of the arena and of the memory for inputs */
    int64_t before[2]; /* bytes needed in the window before */
    int32_t left; /* runs until it ends */
    int32_t window; /* runs; 0 = none has begun */
    bool gave; /* memory was given back since it was last taken */
} ml_trim_window;

enum { ML_BUCKETS = 64 };

/* A tensor for which a shape was requested, now or earlier. */
typedef struct ml_request {
    int32_t tensor;
    bool pending; /* requested since a plan was put into use, even if it is the shape in use */
    bool planned; /* `plan` is its shape in the plan being made */
    bool stands; /* `now` is its shape in the plan in use */
    ml_shape shape;
    ml_shape plan;
    ml_shape now;
} ml_request;

/* All requests. Nothing else is shared by threads that make some at the same time, except for the
 * number ML_LAYOUT and the buffers in use, which change under this lock too. */
typedef struct ml_requests {
    atomic_flag taken;
    ml_request *rows; /* by ascending tensor */
    int32_t count;
    int32_t room;
    int32_t *spec; /* the key of the plan being made; written by the holder of the turn */
    int32_t words;
    int32_t spec_room;
    ml_binding *bound; /* the buffers requested, of frame 0, by ascending tensor */
    int32_t n_bound;
    int32_t bound_room; /* never less than the buffers in use */
    bool rebinds; /* they are not those in use */
    int64_t newest; /* the highest number that a buffer has had */
} ml_requests;

/* The functions of run/ that steps need. run/ passes them to each state it makes, so that this room
 * does not depend on run/. */
typedef struct ml_runner {
    const ml_core *core; /* the core's functions in a run */
    /* The function of a step whose node is prepared for the shapes it reads. */
    ml_eval_fn (*eval_of)(const ml_node *node, const ml_node_plan *row);
    ml_eval_fn unsettled; /* the function of all other steps */
} ml_runner;

struct ml_state {
    ml_family *family; /* held */
    ml_graph *graph; /* the family's */
    ml_interpreter *interpreter;
    const ml_runner *runner;
    ml_hooks hooks;
    const struct ml_simd *simd;
    int32_t strategy; /* its index in the table */
    int32_t options;
    atomic_int holders; /* the caller and every view, which may be finalized in any order */
    atomic_int pinned; /* live views of the arena */
    ml_arena *arena; /* `own`, or the workspace's, which has values of this state or of another */
    ml_arena own;
    uint8_t *shared_base; /* of the workspace's arena in the last run of this state */
    int64_t charged; /* bytes of the workspace's arena that the account has taken for this state */
    ml_arena inputs; /* memory of graph inputs */
    ml_trim_window trim;
    bool fresh; /* memory was taken since the last run */
    ml_arena *spills; /* by frame: memory of frames that outgrew their caller's scratch */
    uint64_t lent; /* by position of a graph input: its value is in an array of the caller's */
    bool has_inputs; /* also inputs that may be lent have memory, from when one first needed it */
    atomic_bool lacks_inputs; /* of the residence in use, some have none, or are lent */
    uint8_t *persistent;
    int64_t persistent_capacity;
    uint8_t *work; /* ML_WORK_BYTES */
    uint8_t *node_memory; /* graph->memory_bytes */
    ml_block *heap; /* by slot; NULL if the graph has no tensors of variable size */
    ml_block *carries; /* two per slot; made by the first loop whose carried values change shape */
    ml_need *needs; /* by slot: what dynamic tensors needed; made with the first residence that has
                      * dynamic tensors */
    ml_need *scratch_needs; /* by node, in the same block */
    ml_requests requests;
    ml_binding *bound; /* in use, of frame 0, by ascending tensor */
    int32_t n_bound;
    int32_t n_cached;
    int64_t cached_bytes;
    int64_t cache_bytes;
    int64_t most_arena; /* 0 = no limit */
    ml_tiling *tiling; /* the groups of the last size that has some; NULL without a limit */
    ml_residence *now; /* in use; also in its bucket */
    bool released; /* its arena */
    ml_engine engine; /* its rows are those of the residence in use */
    struct ml_frame_engine *frame_engines; /* by frame */
    ml_env *envs; /* by frame: the environment of the calls of all residences */
    ml_env *shape_envs; /* the same, but without values */
    ml_residence **buckets;
    int32_t n_buckets;
    ml_residence *first_buckets[ML_BUCKETS]; /* used until there are more residences */
    ml_residence *oldest, *newest; /* by last use */
    int64_t ticks;
    int64_t poll_at; /* ns of the monotonic clock */
    /* ML_GENERATION of the residence in use; ML_LAYOUT too, or 0 while runs are refused. Python
     * reads them without the turn. */
    _Atomic uint64_t changes[2];
    uint64_t generations; /* the last number given out */
    bool run_changed; /* in the current run, a dynamic tensor changed its shape or place */
    bool alone; /* in the current run, all blocks run on the caller's thread */
    ml_counters counters;
    ml_timing *timing; /* what the current run fills in, the caller's; NULL: it is not timed */
    _Atomic int64_t n_events; /* of that run */
    ml_work_time shared;
    ml_error error; /* of the current call; all calls of kernels point at it */
};

/* state.c: makes a state whose nodes are run by options.runner. */
typedef struct ml_state_options {
    const char *strategy;
    int32_t options;
    int64_t cache_bytes;
    int64_t most_arena;
    const ml_hooks *hooks;
    const ml_runner *runner;
} ml_state_options;
ml_status ml_state_make(ml_family *family, ml_interpreter *interpreter,
                        const ml_state_options *options, ml_state **state, ml_error *error);
/* Errors are passed to Python by address. The first moves the state's own error out and leaves it
 * empty; the second is for a call that was refused because another one had the turn. */
uintptr_t ml_state_give_error(ml_state *state, ml_status status);
uintptr_t ml_busy_error(void);

/* requests.c: writes the key of a plan for the requested shapes to requests.spec; shapes in `rows`
 * take precedence. *resized says whether shapes were requested since a plan was put into use. */
ml_status ml_requests_spec(ml_state *state, const int32_t *rows, int32_t words, bool *resized,
                           ml_error *error);
/* The buffers for that plan: those in use, or a copy of those requested, which the caller frees or
 * puts into use. */
ml_status ml_requests_bound(ml_state *state, ml_binding **bound, int32_t *n_bound, ml_error *error);
void ml_requests_use_bound(ml_state *state, ml_binding *bound, int32_t n_bound);
/* The plan of that key is in use now; or it was refused, and the requests are withdrawn. */
void ml_requests_accepted(ml_state *state);
void ml_requests_refused(ml_state *state);
void ml_requests_free(ml_state *state);
/* Notes that any pointer or shape of the residence in use may have changed. */
void ml_changed(ml_state *state);
/* True if runs are served. */
static inline bool ml_is_ready(const ml_state *s) {
    return atomic_load_explicit(&s->changes[ML_LAYOUT], memory_order_relaxed) != 0;
}

/* cache.c */
ml_residence *ml_cache_find(ml_state *state, const ml_plan_request *request);
void ml_cache_add(ml_state *state, ml_residence *residence);
void ml_cache_use(ml_state *state, ml_residence *residence);
/* Drops the least recently used residences until the limit is kept; never the one in use. */
void ml_cache_evict(ml_state *state);
void ml_cache_drop_all_but(ml_state *state, const ml_residence *kept);
/* The default planner searches for about 0.2 us per record. If the plan is above its lower bound
 * then, the rest of 200 us is spent when its shapes come back, once. If that gives a smaller plan,
 * it replaces the old one. Returns the residence that is in the cache afterwards. */
ml_residence *ml_cache_improve(ml_state *state, ml_residence *residence);

/* memory.c: sets variables and the memory that kernels keep to their values before the first
 * run. */
void ml_begin_variables(ml_state *state, const ml_residence *residence);

/* resolve.c: lets calls of kernels use this residence. */
void ml_enter_residence(ml_state *state, ml_residence *residence);
/* True if all its pointers are valid, except for those to memory outside the arena. */
bool ml_stands(const ml_state *state, const ml_residence *residence);
/* Sets the pointers of all tensors and steps of the residence. `like` is another residence of the
 * state, or NULL; its steps are copied if they suit. */
void ml_resolve(ml_state *state, ml_residence *residence, const ml_residence *like);
/* Sets the pointers to bound buffers and to values of variable size. */
void ml_resolve_outside_arena(ml_state *state, ml_residence *residence);
/* Moves pointers of the frame and the frames below it from [from, from + bytes) to the same
 * distance from `to`. */
void ml_relocate(ml_state *state, ml_residence *residence, int32_t frame, const uint8_t *from,
                 int64_t bytes, uint8_t *to);

/* bound.c: checks that every buffer is large enough for its tensor, and is not shared by two
 * tensors that are live at the same time. */
ml_status ml_bound_check(const ml_plan *plan, const ml_rows *rows, const ml_binding *bound,
                         int32_t n_bound, ml_error *error);
/* Checks the size of one tensor only; called by runs that change shapes. */
ml_status ml_bound_check_bytes(const ml_state *state, const ml_residence *residence, int32_t tensor,
                               ml_error *error);

/* memory.c: makes room for `bytes` in the arena, keeping the first `keep`. */
ml_status ml_region_commit(ml_state *state, int64_t bytes, int64_t keep, ml_error *error);
/* ML_ARENA_ERROR if the arena may not have so many bytes. */
ml_status ml_check_most_arena(const ml_state *state, int64_t bytes, ml_error *error);
/* Stores that the arena is needed up to `bytes`; it had `had` bytes before. */
void ml_arena_needed(ml_state *state, int64_t bytes, int64_t had);
/* Takes memory for the inputs of a residence; values stay. ml_inputs_follow has to come next, for
 * that memory may have moved. */
ml_status ml_inputs_commit(ml_state *state, const ml_residence *residence, ml_error *error);
/* Ends a window of runs, and gives back memory that was not needed for long. */
void ml_next_trim_window(ml_state *state);
/* memory.c: takes all memory that a residence needs, or changes nothing. A workspace's arena is
 * taken by runs. */
ml_status ml_acquire(ml_state *state, const ml_residence *residence, ml_error *error);

/* The two blocks of carried value `i` of a loop, whose body has that frame; the table is there. */
static inline ml_block *ml_state_carries(const ml_state *s, int32_t frame, int32_t i) {
    const ml_subgraph *sub = ml_frame_subgraph(s->graph, frame);
    const int32_t slot = s->graph->frames[frame].slot_base + sub->slots[sub->io.inputs[i]];
    return &s->carries[2 * (int64_t)slot];
}

/* True if its arena is that of a workspace. */
static inline bool ml_shares_arena(const ml_state *s) { return s->arena != &s->own; }

/* The bytes that the inputs of a residence need. */
static inline int64_t ml_inputs_needed(const ml_state *s, const ml_residence *r) {
    const ml_frame_plan *frame = &r->rows->frames[0];
    return s->has_inputs ? frame->input_bytes : frame->copied_bytes;
}

/* resolve.c: sets the pointers to inputs outside the region: NULL while they are lent, or have no
 * memory. */
void ml_resolve_inputs(ml_state *state, ml_residence *residence);
/* resolve.c: the same for the residence in use; if that memory has moved, places are others. */
void ml_inputs_follow(ml_state *state);
/* inputs.c: takes memory for all inputs outside the region of the residence in use. */
ml_status ml_inputs_acquire(ml_state *state, ml_error *error);
/* Lets a run read the rows' arrays, and sees to it that all other inputs have memory. ML_LENT: one
 * of the others is lent. After the run, ml_resolve_inputs forgets the arrays. */
ml_status ml_inputs_lend(ml_state *state, const ml_binding *rows, int32_t count, ml_error *error);

/* heap.c: the block of a tensor of variable size; NULL for other tensors. */
ml_block *ml_heap_block(const ml_state *state, const ml_residence *residence, int32_t frame,
                        int32_t tensor);
/* First makes new blocks, by slot of the main subgraph, for inputs and variables whose shapes the
 * residence changes (NULL if there are none). The second step cannot fail: it puts them into use,
 * and forgets values computed by nodes. */
ml_status ml_heap_acquire(const ml_state *state, const ml_residence *residence, ml_block **fresh,
                          ml_error *error);
void ml_heap_enter(ml_state *state, const ml_residence *residence, ml_block *fresh);
void ml_heap_reset_variables(ml_state *state);
/* Gives back room that no value takes, and room that only runs need. Pointers have to be resolved
 * afterwards. */
void ml_heap_trim(ml_state *state);

/* Notes that the run has changed shapes or places of dynamic tensors. */
static inline void ml_run_changed(ml_state *s) {
    uint64_t number = ++s->generations;
    atomic_store_explicit(&s->changes[ML_GENERATION], number, memory_order_relaxed);
    s->now->changes[ML_GENERATION] = number;
}

#endif
