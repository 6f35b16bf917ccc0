/* run.h -- running: interpreters, states and their plans, and the hooks by which C calls Python. */

/* C calls these on the thread that called run or prepare, never on pool threads. Each returns an
 * ml_status. */
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
    ML_FREE_UNREAD = 16, /* a tensor without readers is freed at once (TFLite keeps it) */
    /* If a plan with sharing misses its lower bound, plan without sharing too; keep the smaller. */
    ML_KEEP_SMALLER = 32,
    ML_KEEP_PAGES = 64, /* the process keeps the pages of a released arena for the next one */
    ML_INPUTS_APART = 128, /* graph inputs that are kept lie beside the arena; TFLite plans them */
    ML_SHARES_ARENA = 256 /* set by states of a workspace: all inputs lie outside the arena */
} ml_option;

typedef struct ml_counters {
    int64_t invokes;
    int64_t plans; /* plans made from scratch */
    int64_t plan_hits; /* prepares that found their plan in the cache */
    int64_t nodes_prepared;
    /* Dynamic tensors that outgrew their capacity during a run, and were placed one by one. */
    int64_t capacity_misses;
    int64_t replans; /* residences placed again between runs */
    int64_t arena_moves; /* times the arena's base changed */
    int64_t resolves; /* times a residence's pointers were rewritten */
    /* Times that only bound buffers changed, so that nothing else was resolved. */
    int64_t rebinds;
    /* Plans that a longer search made smaller when their shapes came back. */
    int64_t plans_improved;
    int64_t plans_evicted; /* residences dropped from the full cache */
    int64_t given_back; /* times the arena gave back memory unused for long */
    int64_t bytes_copied; /* because memory moved; copies by callers do not count */
    /* During runs that began after memory was taken; 0 if the system cannot tell. */
    int64_t page_faults;
    /* Times a plan asked the Model's store for packed weights: once per node that packs, and again
     * when its layout changes. */
    int64_t store_lookups;
    /* Runs on the caller's thread only, because more threads had not made runs faster. */
    int64_t runs_alone;
} ml_counters;

/* Makes the part that the states of one interpreter share. `resources`: the number of variables and
 * tables in its graphs; `subgraphs`: of subgraphs. `max_bytes` limits tensors and the scratch of
 * workers together, `max_iterations` each execution of a WHILE; 0 = no limit. A negative
 * `max_bytes` is a limit that ends once a shape is requested that is not the file's. The caller and
 * the states hold it; it is freed with the last of them. ML_GRAPH_ERROR for negative numbers of
 * resources or subgraphs; ML_ARENA_ERROR. */
ml_status ml_interpreter_new(int32_t resources, int32_t subgraphs, int64_t max_bytes,
                             int64_t max_iterations, ml_interpreter **interpreter, ml_error *error);
void ml_interpreter_free(ml_interpreter *interpreter);
/* Makes one arena for the states of several interpreters, which run one after the other: the arena
 * has the values of the one that ran last. With `own_at_once`, an interpreter that is called while
 * another one runs, or by another thread than the first, takes an arena of its own for good;
 * otherwise such a call ends with ML_SHARED. The caller and the interpreters hold it.
 * ML_ARENA_ERROR. */
ml_status ml_workspace_new(int32_t own_at_once, ml_workspace **workspace, ml_error *error);
void ml_workspace_free(ml_workspace *workspace);
/* Gives the memory back, and with it all values there; `ends`: runs in it are refused from now on.
 * ML_SHARED during a run, ML_VIEW_HELD. */
ml_status ml_workspace_trim(ml_workspace *workspace, int32_t ends, ml_error *error);
int64_t ml_workspace_bytes(const ml_workspace *workspace);
int32_t ml_workspace_has_ended(const ml_workspace *workspace);
/* The states of this interpreter, of which there are none yet, use the workspace's arena. */
void ml_interpreter_share(ml_interpreter *interpreter, ml_workspace *workspace);
/* Makes the current run stop with ML_CANCELLED at its next node or block. Any thread may call
 * it. */
void ml_interpreter_cancel(ml_interpreter *interpreter);
/* A token: once it is set, runs that were given it end with ML_CANCELLED; a run that begins later
 * ends before its first node. Any thread may set it. It stays set, and must outlive its runs. */
typedef struct ml_cancel ml_cancel;
ml_status ml_cancel_new(ml_cancel **cancel, ml_error *error);
void ml_cancel_free(ml_cancel *cancel);
void ml_cancel_set(ml_cancel *cancel);
int32_t ml_cancel_is_set(const ml_cancel *cancel);
/* The address of a counter. Each call that changes something increments it when it begins and when
 * it ends, so it is odd during such a call. Code that copies bytes without the turn compares it
 * before and after. Valid as long as the interpreter. */
const uint64_t *ml_interpreter_sequence(const ml_interpreter *interpreter);
/* Forgets resource variables, tables, and which subgraphs CALL_ONCE has run. */
ml_status ml_interpreter_reset_resources(ml_interpreter *interpreter);
/* Sets how many threads runs may use, the caller's included, from the next run on. */
ml_status ml_interpreter_set_threads(ml_interpreter *interpreter, int32_t threads);

/* A graph, which it holds, and what the plans of all its sizes have in common: for all states over
 * that graph. The caller and the states hold it. */
typedef struct ml_family ml_family;
ml_status ml_family_new(ml_graph *graph, ml_family **family, ml_error *error);
void ml_family_free(ml_family *family);

/* `cache_bytes` limits the bytes of all plans that are not in use, with their residences.
 * `most_arena` limits those of the arena (0: nothing does): parts of the model run patch by patch
 * until it has no more; ML_ARENA_ERROR if that is not enough, or if a run would place more. */
ml_status ml_state_new(ml_family *family, ml_interpreter *interpreter, const char *strategy,
                       int32_t options, int64_t cache_bytes, int64_t most_arena,
                       const ml_hooks *hooks, ml_state **state, ml_error *error);
void ml_state_free(ml_state *state);

/* A buffer of the caller that replaces the memory of a tensor of the main subgraph. */
typedef struct ml_binding {
    void *data;
    int64_t bytes; /* -1: the tensor is bound no longer */
    int64_t number; /* the caller's, ascending from call to call; 0: none */
    int32_t tensor;
} ml_binding;

/* Requests a shape (`rank` dimensions at `dims`) for a tensor of the main subgraph, from the next
 * prepare on. Takes no turn: several threads may request shapes at once. The result says whether
 * the shape differs from the one last requested, is the same, or is refused (no such tensor, a
 * constant, not a valid shape). Without memory nothing is noted. */
typedef enum {
    ML_REQUEST_SAME = 0,
    ML_REQUEST_NOTED = 1,
    ML_REQUEST_WRONG = -1,
    ML_REQUEST_NO_MEMORY = -2
} ml_request_answer;
int32_t ml_state_request(ml_state *state, int32_t tensor, const void *dims, int32_t rank);
/* True if a shape was requested for the tensor since the last successful prepare; then *shape is
 * it. */
int32_t ml_state_requested(ml_state *state, int32_t tensor, ml_shape *shape);
/* Requests that buffers are bound, or bound no longer, from the next prepare on; takes no turn.
 * The caller keeps a buffer as long as ml_state_holds says so. ML_REQUEST_SAME: no buffer was there
 * to unbind; ML_REQUEST_WRONG: another thread's call had a higher number. Then, and without memory,
 * nothing is noted. */
int32_t ml_state_bind(ml_state *state, const ml_binding *rows, int32_t count);
/* Says of the buffers of that number if they are requested, in use, or have not been given yet. */
int32_t ml_state_holds(ml_state *state, int64_t number);
/* The number of the buffer that is requested for the tensor; 0 if none is. */
int64_t ml_state_requested_buffer(ml_state *state, int32_t tensor);
/* Puts the plan for the requested shapes and buffers into use; shapes that were not requested are
 * those of the file. The plan depends on which tensors are bound, not on where the buffers lie.
 * Variable tensors become zero, unless the plan stays the same and no shape was requested (not even
 * the current one). On failure the old plan, its buffers and its memory stay, and requests are
 * withdrawn, unless it failed because of the turn or of views. */
uintptr_t ml_state_prepare(ml_state *state);
/* Makes the plan for the requested shapes without using it; shapes in `rows` ([tensor, rank,
 * dims...] by ascending tensor) take precedence, and bound buffers stay. The caller frees the
 * plan. */
ml_status ml_state_plan_for(ml_state *state, const int32_t *rows, int32_t words, ml_plan **plan,
                            ml_error *error);
/* The plan in use; and a copy of its residence in the form of a plan, with what runs have learnt.
 * The caller frees both. *plan is NULL if no plan is in use. */
ml_status ml_state_plan(ml_state *state, ml_plan **plan, ml_error *error);
ml_status ml_state_memory(ml_state *state, ml_plan **plan, ml_error *error);
void ml_plan_free(ml_plan *plan);

/* Runs the plan in use, node by node. Returns 0 on success, else the address of an ml_error, which
 * the caller gives to ml_error_free. So threads that fail at the same time get separate errors, and
 * a run that succeeds needs none. */
uintptr_t ml_state_run(ml_state *state);
/* The same, but ends when the token is set. */
uintptr_t ml_state_run_until(ml_state *state, const ml_cancel *cancel);
/* The same on arrays of the caller, in which inputs that are lendable are read: a row each, whose
 * `number` is not used. Nothing writes to them, nor keeps their addresses. Afterwards such an input
 * is lent: it has no memory, and a run that is given no array for it ends with ML_LENT, until
 * ml_state_own_input gives it memory of its own. `cancel` may be NULL. */
uintptr_t ml_state_run_on(ml_state *state, const ml_binding *rows, int32_t count,
                          const ml_cancel *cancel);
ml_status ml_state_own_input(ml_state *state, int32_t tensor, ml_error *error);
/* The time of a node in a timed run. The times of a frame's nodes, and those of the loop between
 * them, add up to the time of the frame. */
typedef struct ml_node_time {
    int64_t ns; /* in the node, with the nodes of its subgraphs */
    int64_t runs;
    int64_t shared_ns; /* part of ns, in work that threads can share (> 1 block) */
    int64_t blocks; /* of such work */
} ml_node_time;
/* A node that ran, or a block of its work that a thread of the pool computed. */
typedef struct ml_event {
    int64_t start; /* ns by the run's clock */
    int64_t end;
    int32_t node; /* its place among the times */
    int32_t worker; /* whose block it is, 0 for the caller's; -1: it is the node */
} ml_event;
/* The results of a timed run, all of it the caller's. */
typedef struct ml_timing {
    ml_node_time *times; /* for each node of all frames: frame by frame, by position; added to */
    ml_event *events; /* NULL: none are noted */
    int64_t room; /* of events */
    int64_t n_events; /* of the run, also those that found no room */
    int64_t (*clock)(void *owner); /* NULL: the system's; otherwise called by any worker */
    void *owner;
    int64_t start; /* of the first node, by that clock */
    int64_t end; /* of the last one */
} ml_timing;
/* The same as ml_state_run, and fills in `timing`. */
uintptr_t ml_state_run_timed(ml_state *state, ml_timing *timing);
void ml_error_free(ml_error *error);
/* Held by a view of the arena; empty while it is zero. While there are pins, memory neither moves
 * nor is freed: the state itself lives until its caller and all pins have released it. */
typedef struct ml_pin {
    ml_state *state;
    int32_t shares; /* of the memory of a workspace */
} ml_pin;
/* Fills an empty pin, if a tensor of the main frame still has that size, and the state still has
 * the generation under which it was looked up; else ML_NOT_READY. ML_BUSY during a call. */
ml_status ml_state_pin(ml_state *state, int32_t tensor, uint64_t generation, int64_t bytes,
                       ml_pin *pin);
/* Empties a pin; has no effect on one that is empty. */
void ml_pin_end(ml_pin *pin);
/* Gives back unused arena memory, and cached plans that are not in use; the next prepare or run
 * takes what it needs again. */
ml_status ml_state_trim(ml_state *state, ml_error *error);
/* Frees the arena until the next prepare; the plan stays. */
ml_status ml_state_release_memory(ml_state *state, ml_error *error);
/* Sets variable tensors to zero. */
ml_status ml_state_reset_variables(ml_state *state, ml_error *error);
/* A snapshot: what an interpreter and states of it keep from run to run. It is a sequence of rows,
 * each followed by `bytes` bytes and by zeros up to a multiple of 64: first rows of the
 * interpreter, then those of each state, in ascending order of state, what and number. So values
 * begin at multiples of 64, as variables do: copies between places that differ in it are slower. */
typedef enum {
    ML_KEPT_RESOURCE = 0, /* a resource variable or table that has a value */
    ML_KEPT_CALLED = 1, /* a byte per subgraph: 1 if CALL_ONCE has run it */
    ML_KEPT_VARIABLES = 2, /* variable tensors of fixed size */
    ML_KEPT_NODES = 3, /* what kernels remember */
    ML_KEPT_STRINGS = 4 /* a variable tensor of strings */
} ml_kept_what;
typedef struct ml_kept_row {
    int64_t bytes;
    int32_t state; /* its place among the states; -1: of the interpreter */
    int32_t what; /* ml_kept_what */
    int32_t number; /* of the resource; the slot of strings; else 0 */
    int32_t type; /* of a resource: ml_type, or -1 for a table */
    ml_shape shape; /* of a resource or strings; dimensions that it does not have are 0 */
    int32_t reserved;
} ml_kept_row;
enum { ML_KEPT_STEP = 64 };
/* The bytes of a snapshot, written to `to` if `room` is as much; -1 while a call has the turn. It
 * begins at the first multiple of 64 from `to` on, where ML_KEPT_STEP bytes more than `room` are.
 * All states belong to the interpreter, and have a plan in use. */
int64_t ml_kept_pack(ml_interpreter *interpreter, ml_state *const *states, int32_t n_states,
                     void *to, int64_t room);
/* True if bytes, which begin at the first multiple of 64 from `from` on, are a snapshot: of some
 * model, perhaps not of the one it is for. */
ml_status ml_kept_check(const void *from, int64_t bytes, ml_error *error);
/* Puts a snapshot, which begins at the first multiple of 64 from `from` on, in force; values
 * without a row in it begin again. On failure nothing has changed. */
ml_status ml_kept_unpack(ml_interpreter *interpreter, ml_state *const *states, int32_t n_states,
                         const void *from, int64_t bytes, ml_error *error);

/* Where a tensor of the main frame lies now, and what it is. */
typedef struct ml_place_now {
    ml_tensor tensor;
    void *data; /* NULL: it has no memory now */
    int64_t bytes; /* at data */
    /* All of this holds as long as this number: ML_GENERATION if `moves`, else ML_LAYOUT. */
    uint64_t generation;
    uint64_t layout; /* ML_LAYOUT at that time */
    int64_t buffer; /* the number of the buffer that it is bound to; 0: of none */
    bool moves; /* runs may change its shape and place */
    bool lendable; /* ml_state_run_on takes an array for it */
    bool shared; /* it lies in the memory of a workspace */
    bool settled; /* runs change no shape of the plan in use */
} ml_place_now;
ml_status ml_state_place(ml_state *state, int32_t tensor, ml_place_now *place, ml_error *error);
/* The number, in the file, of the first node that overwrites a tensor of the main frame after its
 * last reader; -1 if none does. */
ml_status ml_state_overwriter(ml_state *state, int32_t tensor, int32_t *node, ml_error *error);
/* 1: built with ML_DEBUG. Then runs overwrite each tensor after its last reader, and check that
 * nothing is written past the end of live tensors. */
int32_t ml_debug_build(void);
/* Copies `bytes` out of or into a tensor of the main frame, if it still has that size and the state
 * still has this `generation`. ML_BUSY during a run, a resize or a trim. */
ml_status ml_state_read(ml_state *state, int32_t tensor, uint64_t generation, void *to,
                        int64_t bytes);
ml_status ml_state_write(ml_state *state, int32_t tensor, uint64_t generation, const void *from,
                         int64_t bytes);
/* Gives a tensor of no fixed size (heap) its value, if the state still has this `generation`; else
 * ML_NOT_READY. */
ml_status ml_state_write_heap(ml_state *state, int32_t tensor, uint64_t generation,
                              const void *from, int64_t bytes, ml_error *error);

ml_status ml_state_get_counters(ml_state *state, ml_counters *counters);

/* Bytes that a state and its interpreter hold now. */
typedef struct ml_usage {
    int64_t bound_bytes; /* largest sum live at once: the least arena_bytes could be */
    /* Bytes of arena_capacity that are in memory; all, if the system cannot tell. */
    int64_t resident_bytes;
    /* Bytes of resource variables and tables, which the states of an interpreter share. */
    int64_t resource_bytes;
    int64_t taken_bytes; /* counted against max_bytes, by all states of the interpreter */
    int64_t arena_bytes; /* of the residence in use, with capacities of dynamic tensors */
    /* Bytes beside these for inputs; those that are lendable take none until something needs it. */
    int64_t input_bytes;
    int64_t arena_capacity; /* bytes held, used or not */
    int64_t kept_bytes; /* of released arenas, which the process keeps for the next ones */
    /* Bytes of blocks outside the arena: values of variable size, and carried values of loops that
     * change shape. */
    int64_t block_bytes;
    int64_t packed_bytes; /* of packed weights, which all interpreters of the Model share */
    int64_t mapped_bytes; /* of them: in files, which processes share */
    int64_t larger_bytes; /* of them: what the graph grants to larger forms, packed or not yet */
    int64_t cached_bytes; /* of the plans in the cache, with their residences */
    int32_t cached_plans; /* with the one in use */
    int32_t views; /* live views of the arena */
    /* Addresses in the arena stay readable and writable as long as the state lives. */
    int32_t stays_mapped;
} ml_usage;
ml_status ml_state_get_usage(ml_state *state, ml_usage *usage);
/* False if copies into and out of a tensor need no turn from now on: ml_usage.stays_mapped. */
ml_status ml_state_needs_turns(ml_state *state, int32_t tensor, int32_t *needs_turns);
/* The address of two numbers. ML_LAYOUT changes whenever a pointer or a shape changes outside of
 * runs; ML_GENERATION changes with it, and whenever a run changes the shape or the place of a
 * dynamic tensor. Both return to an earlier value together with a plan whose pointers and shapes
 * are the same as then. ML_LAYOUT is 0 while runs are refused: until tensors are allocated, while
 * shapes or buffers are requested, and after memory was released. ML_GENERATION is 0 until a plan
 * is in use. Valid as long as the state. They are written atomically and may be read at any time:
 * calls that use a cached lookup compare them again once they have the turn. */
enum { ML_LAYOUT = 0, ML_GENERATION = 1 };
const uint64_t *ml_state_generation(const ml_state *state);

/* For hooks: an operand of a call. */
typedef struct ml_operand {
    const ml_tensor *tensor; /* NULL when absent */
    void *data; /* NULL if it has no memory */
    int64_t bytes; /* at data */
} ml_operand;
int32_t ml_call_handler(const ml_call *call);
ml_operand ml_call_operand(const ml_call *call, int32_t input);
ml_operand ml_call_output(const ml_call *call, int32_t output);
/* Sets the shape of output `i` of a SETS_SHAPES node. After all outputs have shapes, settling gives
 * them places; only then can operands be looked up. */
ml_status ml_call_set_output(const ml_call *call, int32_t i, const ml_shape *shape);
ml_status ml_call_settle(const ml_call *call);
/* Sets the number of bytes of an output whose type has no fixed size. */
ml_status ml_call_set_bytes(const ml_call *call, int32_t i, int64_t bytes);
