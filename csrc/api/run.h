/* run.h -- running: states, their plans in force, and the hooks through which C calls Python. */

/* Running -------------------------------------------------------------------------------------------------------------- */

/* C calls these from the thread that called run or prepare, never from pool threads. Each returns an ml_status. */
typedef struct ml_hooks {
    void *owner;
    int32_t (*eval)(void *owner, const ml_call *call);
    int32_t (*shape)(void *owner, const ml_call *call,
                     ml_shape *outputs); /* a custom operator's shape function */
    int32_t (*poll)(void *owner); /* lets Python handle signals */
} ml_hooks;

typedef enum {
    ML_KEEP_INPUTS = 1, /* graph inputs are kept to the end of a run, as LiteRT does */
    ML_KEEP_ALL = 2, /* every tensor is kept: no reuse, no sharing */
    ML_SHARE_TFLITE = 4, /* share in place where TFLite does */
    ML_SHARE_WIDE = 8, /* share in place wherever the operator allows it, last consumer included */
    ML_FREE_UNREAD = 16, /* a tensor nobody reads is freed at once (TFLite keeps it) */
    ML_SEARCH_LONG = 64, /* place by the exact search, within 20 000 search nodes */
    ML_KEEP_SMALLER =
        32 /* plan again without sharing when sharing misses its lower bound; keep the smaller */
} ml_option;

typedef struct ml_counters {
    int64_t invokes;
    int64_t plans; /* plans made from scratch */
    int64_t plan_hits; /* prepares answered from the cache */
    int64_t suffix_plans; /* re-plans behind a node in mid-run */
    int64_t nodes_prepared;
    int64_t arena_moves; /* times the arena's base changed */
    int64_t resolves; /* times the pointer table was rewritten */
    int64_t
        rebinds; /* times other buffers were put under the plan in force: nothing else was resolved */
    int64_t
        plans_improved; /* plans that a longer search made smaller when their shapes came back */
} ml_counters;

ml_status ml_state_new(ml_graph *graph, const char *strategy, int32_t options,
                       const ml_hooks *hooks, ml_state **state, ml_error *error);
void ml_state_free(ml_state *state);

/* The caller's buffer in place of a tensor of the main subgraph. */
typedef struct ml_binding {
    void *data;
    int64_t bytes;
    int32_t tensor;
    int32_t reserved;
} ml_binding;

/* Puts the plan for these shapes in force: `spec` is a row of [tensor, rank, dims...] for each resized tensor of the main
 * subgraph, by ascending tensor; shapes not named are the file's. `bindings` are all buffers that stand in for tensors from
 * now on; the plan hangs on which tensors these are, not on where the buffers lie. Zeroes variable tensors, unless only
 * buffers change. On failure the old plan and buffers stay. */
ml_status ml_state_prepare(ml_state *state, const int32_t *spec, int32_t words,
                           const ml_binding *bindings, int32_t n_bindings, ml_error *error);
/* Makes the plan for these shapes and the buffers in force, without putting it in force; the caller frees it. */
ml_status ml_state_plan_for(ml_state *state, const int32_t *spec, int32_t words, ml_plan **plan,
                            ml_error *error);
/* One more holder of the plan; it goes when the last one frees it. Returns plan. */
ml_plan *ml_plan_hold(ml_plan *plan);
void ml_plan_free(ml_plan *plan);

/* Runs the plan in force, node by node. */
ml_status ml_state_run(ml_state *state, ml_error *error);
/* Makes the run that is under way stop with ML_CANCELLED at its next node; any thread may call it. */
void ml_state_cancel(ml_state *state);
/* Says whether caller-visible views of the arena are alive: memory then neither moves nor goes. */
void ml_state_pin(ml_state *state, int32_t pinned);
int32_t ml_state_is_running(const ml_state *state);
/* Gives back arena memory and cached plans that are not in force; the next prepare or run acquires anew. */
ml_status ml_state_trim(ml_state *state, ml_error *error);
/* Frees the arena (release) and takes it again for the plan in force (acquire); the plan stays. */
ml_status ml_state_release_memory(ml_state *state, ml_error *error);
ml_status ml_state_acquire_memory(ml_state *state, ml_error *error);
/* Zeroes variable tensors. */
ml_status ml_state_reset_variables(ml_state *state, ml_error *error);
/* Forgets resource variables and what CALL_ONCE has run. */
ml_status ml_state_reset_resources(ml_state *state, ml_error *error);

const ml_counters *ml_state_counters(const ml_state *state);
ml_plan *ml_state_plan(const ml_state *state);
/* NULL for a tensor that has no memory now. */
void *ml_state_data(const ml_state *state, int32_t frame, int32_t tensor);
int64_t ml_state_arena_capacity(const ml_state *state);
uint64_t
ml_state_generation(const ml_state *state); /* changes whenever a pointer or a shape does */

/* For hooks: what a call is about. */
typedef struct ml_operand {
    const ml_tensor *tensor; /* NULL when absent */
    void *data; /* NULL while it has none */
} ml_operand;
int32_t ml_call_handler(const ml_call *call);
ml_operand ml_call_operand(const ml_call *call, int32_t input);
ml_operand ml_call_output(const ml_call *call, int32_t output);
/* Gives output `i` of a SETS_SHAPES node its shape, then settles places; operands are valid after settling. */
ml_status ml_call_set_output(const ml_call *call, int32_t i, const ml_shape *shape);
ml_status ml_call_settle(const ml_call *call);
