/* state.h -- ml_state: one signature in use, with its memory, its residences and the shapes that
 * were asked for. */
#ifndef ML_STATE_STATE_H
#define ML_STATE_STATE_H

#include "state/interpreter.h"
#include "state/residence.h"

/* Work in more than one block, which threads can share, done by runs that were timed. */
typedef struct ml_work_time {
    int64_t ns;
    int64_t blocks;
} ml_work_time;

/* When the arena gives back what a big size has left behind. What the last one to two windows of
 * runs needed stays, and nothing goes unless more than half, and a MiB, is spare. A window after
 * which memory had to be taken again was too short: the next is twice as long. Hysteresis in two
 * directions: sizes that take turns settle within a few windows. */
typedef struct ml_trim_window {
    int64_t most; /* bytes needed in this window */
    int64_t before; /* in the one before */
    int32_t left; /* runs until it ends */
    int32_t window; /* runs; 0 = none has begun */
    bool gave; /* since it was last taken */
} ml_trim_window;

enum { ML_BUCKETS = 64 };

/* A tensor whose shape was asked for, now or earlier. */
typedef struct ml_request {
    int32_t tensor;
    bool pending; /* since a plan was put in force, be it the shape in force */
    bool planned; /* `plan` is what the plan under way is made for */
    bool stands; /* `now` is what the plan in force was made for */
    ml_shape shape;
    ml_shape plan;
    ml_shape now;
} ml_request;

/* All of them; threads that ask meet here alone. */
typedef struct ml_requests {
    atomic_flag taken;
    ml_request *rows; /* by ascending tensor */
    int32_t count;
    int32_t room;
    int32_t *spec; /* the key of the plan under way; whoever has the turn writes it */
    int32_t words;
    int32_t spec_room;
} ml_requests;

/* How run/ runs nodes. It gives this to each state that it makes, so that nothing here calls up. */
typedef struct ml_runner {
    const ml_core *core; /* as kernels see it in a run */
    /* What the step of a node runs that is prepared for what it reads. */
    ml_eval_fn (*eval_of)(const ml_node *node, const ml_node_plan *row);
    ml_eval_fn unsettled; /* what any other step runs */
} ml_runner;

struct ml_state {
    ml_graph *graph;
    ml_interpreter *interpreter;
    const ml_runner *runner;
    ml_hooks hooks;
    const struct ml_simd *simd;
    int32_t strategy; /* its place in the table */
    int32_t options;
    atomic_int holders; /* the caller and every view: a collector may finalize them in any order */
    atomic_int pinned; /* views of the arena that are alive */
    ml_arena arena;
    ml_trim_window trim;
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
    ml_need *scratch_needs; /* by node, after them */
    ml_requests requests;
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
    ml_env *shape_envs; /* the same without values */
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
    bool alone; /* the run under way: all blocks are for the caller's thread */
    ml_counters counters;
    ml_node_time *times; /* of the run under way, the caller's; NULL: it is not timed */
    ml_work_time shared;
    ml_error error; /* of the call under way: what all calls of kernels point at */
};

/* state.c: ml_state_new, with what runs nodes. */
typedef struct ml_state_options {
    const char *strategy;
    int32_t options;
    int64_t cache_bytes;
    const ml_hooks *hooks;
    const ml_runner *runner;
} ml_state_options;
ml_status ml_state_make(ml_graph *graph, ml_interpreter *interpreter,
                        const ml_state_options *options, ml_state **state, ml_error *error);
/* Errors as calls of Python get them, by address: the state's own, which is empty then, and that of
 * a call which came while another one had the turn. */
uintptr_t ml_state_give_error(ml_state *state, ml_status status);
uintptr_t ml_busy_error(void);

/* requests.c: writes the key of the plan for what is asked for, but for the shapes in `rows`, to
 * requests.spec; *resized says whether shapes were asked for since a plan was put in force. */
ml_status ml_requests_spec(ml_state *state, const int32_t *rows, int32_t words, bool *resized,
                           ml_error *error);
/* The plan of that key is in force, or is refused: then what was asked for is what is in force. */
void ml_requests_accepted(ml_state *state);
void ml_requests_refused(ml_state *state);
void ml_requests_free(ml_state *state);

/* cache.c */
ml_residence *ml_cache_find(ml_state *state, const ml_plan_request *request);
void ml_cache_add(ml_state *state, ml_residence *residence);
void ml_cache_use(ml_state *state, ml_residence *residence);
/* Drops what was longest unused until the bound is kept; never the residence in force. */
void ml_cache_evict(ml_state *state);
void ml_cache_drop_all_but(ml_state *state, const ml_residence *kept);
/* The default planner searches for about 0.2 us per record. A plan that it left above its bound
 * gets the rest of 200 us when its shapes come back, once; a smaller one takes its place, as a new
 * plan. Returns the residence that the cache has then. */
ml_residence *ml_cache_improve(ml_state *state, ml_residence *residence);

/* memory.c: variables, and what kernels keep, as they are before the first run. */
void ml_begin_variables(ml_state *state, const ml_residence *residence);

/* resolve.c: makes the residence the one that calls of kernels see. */
void ml_enter_residence(ml_state *state, ml_residence *residence);
/* Whether all its pointers are right, but for those into memory outside the arena. */
bool ml_stands(const ml_state *state, const ml_residence *residence);
/* Points every tensor and step of the residence in force into the state's memory. `like` is another
 * residence of the state, whose steps may do as well, or NULL. */
void ml_resolve(ml_state *state, ml_residence *residence, const ml_residence *like);
/* The caller's buffers, and values of no fixed size. */
void ml_resolve_outside_arena(ml_state *state, ml_residence *residence);
/* In the frame and those below it, points into [from, from + bytes) become points into `to`. */
void ml_relocate(ml_state *state, ml_residence *residence, int32_t frame, const uint8_t *from,
                 int64_t bytes, uint8_t *to);

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
void ml_next_trim_window(ml_state *state);
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

#endif
