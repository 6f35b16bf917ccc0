/* run.h -- running: states, their plans in force, and the hooks through which C calls Python. */

/* C calls these from the thread that called run or prepare, never from pool threads. Each returns
 * an ml_status. */
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
    /* Plan again without sharing when sharing misses its lower bound; keep the smaller. */
    ML_KEEP_SMALLER = 32
} ml_option;

typedef struct ml_counters {
    int64_t invokes;
    int64_t plans; /* plans made from scratch */
    int64_t plan_hits; /* prepares answered from the cache */
    int64_t nodes_prepared;
    /* Dynamic tensors that outgrew their capacity in mid-run, each then placed alone. */
    int64_t capacity_misses;
    int64_t replans; /* residences placed anew between runs */
    int64_t arena_moves; /* times the arena's base changed */
    int64_t resolves; /* times a residence's pointers were rewritten */
    /* Times other buffers were put under the plan in force: nothing else was resolved. */
    int64_t rebinds;
    /* Plans that a longer search made smaller when their shapes came back. */
    int64_t plans_improved;
    int64_t plans_evicted; /* residences that left the cache when it was full */
    int64_t given_back; /* times the arena gave memory back that runs had long not needed */
    int64_t bytes_copied; /* because memory moved; what callers copy in and out is not counted */
    /* Of runs that began after memory was taken; 0 where the system does not say. */
    int64_t page_faults;
    /* Times a plan asked the Model's store for packed weights: once per node that packs, and again
     * where its layout changes. */
    int64_t store_lookups;
    /* Runs that kept to the caller's thread, because others had not made them faster. */
    int64_t runs_alone;
} ml_counters;

/* What the states of one interpreter share. `resources` is how many variables and tables its graphs
 * number, `subgraphs` how many subgraphs they have. Tensors, and the scratch of workers, may take
 * `max_bytes` in all, a WHILE may make `max_iterations` each time it is reached; 0 = any. NULL
 * without memory. It goes with its last holder: the caller and the states. */
ml_interpreter *ml_interpreter_new(int32_t resources, int32_t subgraphs, int64_t max_bytes,
                                   int64_t max_iterations);
void ml_interpreter_free(ml_interpreter *interpreter);
/* Makes the run that is under way stop with ML_CANCELLED at its next node or block; any thread may
 * call it. */
void ml_interpreter_cancel(ml_interpreter *interpreter);
/* A token: runs that are given it end with ML_CANCELLED once it is set, before their first node if
 * it was set by then. Any thread may set it, it stays set, and outlives the runs that have it. NULL
 * without memory. */
typedef struct ml_cancel ml_cancel;
ml_cancel *ml_cancel_new(void);
void ml_cancel_free(ml_cancel *cancel);
void ml_cancel_set(ml_cancel *cancel);
int32_t ml_cancel_is_set(const ml_cancel *cancel);
/* Where the number lies that a call which changes things counts up when it begins and when it ends:
 * odd while one is under way. Who copies bytes without taking a turn compares it before and after.
 * Valid as long as the interpreter. */
const uint64_t *ml_interpreter_sequence(const ml_interpreter *interpreter);
/* Forgets resource variables, tables and what CALL_ONCE has run. */
ml_status ml_interpreter_reset_resources(ml_interpreter *interpreter);
/* The value of a resource variable or table, which others can be given: `bytes` of them, copied to
 * `to` if `room` is enough. */
typedef struct ml_resource {
    ml_shape shape;
    int32_t type;
    bool there; /* the interpreter has such a number */
    bool assigned; /* it has a value */
    int64_t bytes;
} ml_resource;
ml_status ml_interpreter_resource(ml_interpreter *interpreter, int32_t number, ml_resource *found,
                                  void *to, int64_t room);
ml_status ml_interpreter_set_resource(ml_interpreter *interpreter, int32_t number,
                                      const ml_resource *value, const void *from, ml_error *error);
/* Whether CALL_ONCE has run the subgraph; with `set` it has from now on, or has not, as *done
 * says. */
ml_status ml_interpreter_called_once(ml_interpreter *interpreter, int32_t subgraph, int32_t *done,
                                     bool set);
/* How many threads runs may use, the caller's included; from the next run on. */
ml_status ml_interpreter_set_threads(ml_interpreter *interpreter, int32_t threads);

/* `cache_bytes` bounds what plans that are not in force may take, with their residences. */
ml_status ml_state_new(ml_graph *graph, ml_interpreter *interpreter, const char *strategy,
                       int32_t options, int64_t cache_bytes, const ml_hooks *hooks,
                       ml_state **state, ml_error *error);
void ml_state_free(ml_state *state);

/* The caller's buffer in place of a tensor of the main subgraph. */
typedef struct ml_binding {
    void *data;
    int64_t bytes;
    int32_t tensor;
    int32_t reserved;
} ml_binding;

/* Asks for a shape of a tensor of the main subgraph, `rank` dimensions at `dims`, from the next
 * prepare on. Takes no turn: other threads may ask meanwhile. Another shape than was asked for
 * last, the same, or one that cannot be: no such tensor or shape, or a constant's; without memory
 * nothing is noted. */
typedef enum {
    ML_REQUEST_SAME = 0,
    ML_REQUEST_NOTED = 1,
    ML_REQUEST_WRONG = -1,
    ML_REQUEST_NO_MEMORY = -2
} ml_request_answer;
int32_t ml_state_request(ml_state *state, int32_t tensor, const void *dims, int32_t rank);
/* Whether a tensor's shape was asked for since a plan was put in force; then it is in *shape. */
int32_t ml_state_requested(ml_state *state, int32_t tensor, ml_shape *shape);
/* Puts the plan for the shapes asked for in force; those that nobody asked for are the file's.
 * `bindings` are all buffers that stand in for tensors from now on, -1 of them those in force; the
 * plan depends on which tensors these are, not on where the buffers lie. Zeroes variable tensors,
 * unless the plan stays and no shape was asked for, not even the one that is in force. On failure
 * the old plan and buffers stay, and the memory they lie in; the shapes asked for are those in
 * force, unless it was a matter of turns and views. */
typedef struct ml_preparation {
    ml_state *state;
    const ml_binding *bindings;
    int32_t n_bindings;
} ml_preparation;
uintptr_t ml_state_prepare(const ml_preparation *wanted);
/* Makes the plan for the shapes asked for, but for those in `rows` of [tensor, rank, dims...] by
 * ascending tensor, and the buffers in force, without putting it in force; the caller frees it. */
ml_status ml_state_plan_for(ml_state *state, const int32_t *rows, int32_t words, ml_plan **plan,
                            ml_error *error);
/* The plan in force, and a copy of the residence as a plan: with what runs have learnt. Both are
 * the caller's to free; NULL in *plan when none is in force. */
ml_status ml_state_plan(ml_state *state, ml_plan **plan, ml_error *error);
ml_status ml_state_memory(ml_state *state, ml_plan **plan, ml_error *error);
void ml_plan_free(ml_plan *plan);

/* Runs the plan in force, node by node. 0 when all went well, else the address of an ml_error of
 * the caller's own, for ml_error_free: so each of several threads that fail has its own, and a run
 * that does not fail passes none. */
uintptr_t ml_state_run(ml_state *state);
/* The same, until the token is set. */
uintptr_t ml_state_run_until(ml_state *state, const ml_cancel *cancel);
/* The same, and adds to `times`, one for each node of all frames: frame by frame, by position. */
typedef struct ml_node_time {
    int64_t ns; /* in the node, with the nodes of its subgraphs, by the wall's clock */
    int64_t runs;
    int64_t shared_ns; /* of ns, in work that threads can share: more than one block */
    int64_t blocks; /* of such work */
} ml_node_time;
uintptr_t ml_state_run_timed(ml_state *state, ml_node_time *times);
void ml_error_free(ml_error *error);
/* Counts one more view of the arena, or one less: while there are any, memory neither moves nor
 * goes, not even with the state, which is freed once its caller and all views have let it go. To be
 * called before the view's place is asked for. */
void ml_state_pin(ml_state *state);
void ml_state_unpin(ml_state *state);
/* Gives back arena memory and cached plans that are not in force; the next prepare or run acquires
 * anew. */
ml_status ml_state_trim(ml_state *state, ml_error *error);
/* Frees the arena (release) and takes it again for the plan in force (acquire); the plan stays. */
ml_status ml_state_release_memory(ml_state *state, ml_error *error);
ml_status ml_state_acquire_memory(ml_state *state, ml_error *error);
/* Zeroes variable tensors. */
ml_status ml_state_reset_variables(ml_state *state, ml_error *error);

/* Where a tensor of the main frame lies now, and what it is. */
typedef struct ml_place_now {
    ml_tensor tensor;
    void *data; /* NULL: it has no memory now */
    int64_t bytes; /* at data */
    /* For which all of this holds: ML_GENERATION where `moves`, else ML_LAYOUT. */
    uint64_t generation;
    uint64_t layout; /* ML_LAYOUT then */
    bool moves; /* runs may change its shape and its place */
    bool settled; /* runs change no shape of the plan in force */
} ml_place_now;
ml_status ml_state_place(ml_state *state, int32_t tensor, ml_place_now *place, ml_error *error);
/* The file's number of the first node that writes over a tensor of the main frame once it is dead;
 * -1 if it stays whole. */
ml_status ml_state_overwriter(ml_state *state, int32_t tensor, int32_t *node, ml_error *error);
/* 1: built with ML_DEBUG, so that runs overwrite every tensor that dies, and check that nothing is
 * written after live ones. */
int32_t ml_debug_build(void);
/* Copies `bytes` out of or into a tensor of the main frame, if it still has as many and
 * `generation` is still the state's. No run, resize or trim goes on meanwhile; ML_BUSY when one
 * does. */
ml_status ml_state_read(ml_state *state, int32_t tensor, uint64_t generation, void *to,
                        int64_t bytes);
ml_status ml_state_write(ml_state *state, int32_t tensor, uint64_t generation, const void *from,
                         int64_t bytes);
/* Gives a tensor of no fixed size (heap) its value, if `generation` is still the state's; else
 * ML_NOT_READY. */
ml_status ml_state_write_heap(ml_state *state, int32_t tensor, uint64_t generation,
                              const void *from, int64_t bytes, ml_error *error);

ml_status ml_state_get_counters(ml_state *state, ml_counters *counters);

/* Bytes that a state takes now, and its interpreter. */
typedef struct ml_usage {
    int64_t bound_bytes; /* live at once: what arena_bytes would be at best */
    /* Of arena_capacity, in memory; all of it where the system does not say. */
    int64_t resident_bytes;
    /* Of resource variables and tables, which all states of the interpreter share. */
    int64_t resource_bytes;
    int64_t taken_bytes; /* of what max_bytes bounds, by all states of the interpreter */
    int64_t arena_bytes; /* of the residence in force, capacities of dynamic tensors included */
    int64_t arena_capacity; /* held, in force or not */
    /* Of blocks beside the arena: values of no fixed size, carries of loops whose shapes change. */
    int64_t block_bytes;
    int64_t cached_bytes; /* of the plans in the cache, with their residences */
    int32_t cached_plans; /* the one in force included */
    int32_t views; /* of the arena that are alive */
    /* The arena's addresses can be read and written as long as the state lives. */
    int32_t stays_mapped;
} ml_usage;
ml_status ml_state_get_usage(ml_state *state, ml_usage *usage);
/* Where two numbers lie. ML_LAYOUT changes whenever a pointer or a shape does that runs leave
 * alone, ML_GENERATION with it and whenever a run changes the shape or the place of a dynamic
 * tensor; both come back with a plan whose pointers and shapes are still what they were. Valid as
 * long as the state. They are written atomically and may be read at any time: what was looked up
 * with them is used by calls that compare them again, in their turn. */
enum { ML_LAYOUT = 0, ML_GENERATION = 1 };
const uint64_t *ml_state_generation(const ml_state *state);

/* For hooks: what a call is about. */
typedef struct ml_operand {
    const ml_tensor *tensor; /* NULL when absent */
    void *data; /* NULL while it has none */
    int64_t bytes; /* at data */
} ml_operand;
int32_t ml_call_handler(const ml_call *call);
ml_operand ml_call_operand(const ml_call *call, int32_t input);
ml_operand ml_call_output(const ml_call *call, int32_t output);
/* Gives output `i` of a SETS_SHAPES node its shape, then settles places; operands are valid after
 * settling. */
ml_status ml_call_set_output(const ml_call *call, int32_t i, const ml_shape *shape);
ml_status ml_call_settle(const ml_call *call);
/* The same for the bytes of an output of no fixed size. */
ml_status ml_call_set_bytes(const ml_call *call, int32_t i, int64_t bytes);
