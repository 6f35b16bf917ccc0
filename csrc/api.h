/* api.h -- the C core, seen from Python: cffi's cdef and the C header in one.
 *
 * Three objects decide everything.
 *
 *   ml_graph  what never changes after loading: subgraphs, tensors as the file states them, nodes with their kernels and
 *             parameters, and the frames: one per place a subgraph is run from (the main subgraph is frame 0; a WHILE adds
 *             a frame for its condition and one for its body). Shared, read-only, by every interpreter of the Model.
 *   ml_plan   everything that depends on shapes, for one set of input shapes: every tensor's shape, bytes and place, each
 *             node's prepared blob, folded values, offsets. It holds offsets into the arena, never pointers into it.
 *             Prepare writes into a new plan and nowhere else, so a refused resize leaves the old one in force. Only a run
 *             that meets other dynamic shapes than predicted changes its plan, behind the node it has reached.
 *   ml_state  one interpreter: arena, persistent memory, variables, bound buffers, plans by key, the current one, and the
 *             table `data` of resolved pointers, rewritten when plan, arena base or a bound buffer changed, else never.
 *
 * A kernel is `prepare` (pure: shapes of its outputs, blob, scratch bytes) and `eval` (writes its outputs). An output
 * whose shape depends on values that are unknown makes its node dynamic: when the node is reached, the very same prepare
 * runs again, now with every value at hand. A kernel without eval runs its numpy reference through ml_hooks.
 *
 * Storage of a tensor, and who may do what with it:
 *   constant    the file's or the lowering's bytes; owned by the graph; never written
 *   folded      computed during prepare from known values; owned by the plan; never written again
 *   arena       owned by the state, at plan offset; reused by tensors with disjoint lifetimes
 *   persistent  variable tensors; owned by the state; zeroed when allocated, kept between runs
 *   resource    the number of a resource variable, whose bytes the state owns
 *   bound       the caller's buffer; never moved or freed here
 *   slot        a loop-carried value; lies in the calling node's scratch and changes hands after each iteration
 *
 * Every call returns an ml_status; what went wrong stands in the ml_error that the caller passed (but for ML_BUSY, which
 * touches nothing: the error may be in use by the call that is running). All shapes are
 * (rank, dims), all sizes bytes in int64_t with checked arithmetic, all node ranges inclusive at both ends.
 */

#define ML_MAX_RANK 8
#define ML_FOLD_ELEMENTS 64

typedef enum {
    ML_OK = 0,
    ML_SHAPE_ERROR = 1,     /* a node refuses its shapes */
    ML_ARENA_ERROR = 2,     /* memory is short: needed, available */
    ML_KERNEL_ERROR = 3,    /* a node failed on its values */
    ML_CANCELLED = 4,       /* the cancel flag or a signal stopped the run */
    ML_PYTHON_ERROR = 5,    /* a hook raised; the exception waits in Python */
    ML_BUSY = 6,            /* another call is running on this state */
    ML_VIEW_HELD = 7,       /* memory would move or go under a live view */
    ML_NOT_READY = 8,       /* no plan is in force */
    ML_GRAPH_ERROR = 9,     /* the graph cannot be run: cycles, too many frames */
    ML_BINDING_ERROR = 10   /* a caller's buffer cannot stand in for its tensor */
} ml_status;

/* Element types carry the file format's codes. */
typedef enum {
    ML_F32 = 0,
    ML_F16 = 1,
    ML_S32 = 2,
    ML_U8 = 3,
    ML_S64 = 4,
    ML_STRING = 5,
    ML_B8 = 6,
    ML_S16 = 7,
    ML_C64 = 8,
    ML_S8 = 9,
    ML_F64 = 10,
    ML_C128 = 11,
    ML_U64 = 12,
    ML_RESOURCE = 13,
    ML_VARIANT = 14,
    ML_U32 = 15,
    ML_U16 = 16,
    ML_S4 = 17,
    ML_BF16 = 18
} ml_type;

typedef enum {
    ML_STORAGE_NONE = 0, /* not computed, or absent */
    ML_STORAGE_CONSTANT = 1,
    ML_STORAGE_FOLDED = 2,
    ML_STORAGE_ARENA = 3,
    ML_STORAGE_PERSISTENT = 4,
    ML_STORAGE_RESOURCE = 5,
    ML_STORAGE_BOUND = 6,
    ML_STORAGE_SLOT = 7
} ml_storage;

typedef struct ml_shape {
    int32_t rank;
    int32_t dims[ML_MAX_RANK];
} ml_shape;

/* A tensor in a plan. */
typedef struct ml_tensor {
    const void *known;  /* its value, when constant or folded; else NULL */
    int64_t bytes;      /* of the current shape */
    int64_t capacity;   /* bytes planned for it, >= bytes; grows with what dynamic tensors needed */
    int64_t offset;     /* in its frame's region, -1 while unplaced */
    ml_shape shape;
    int32_t type;
    uint8_t storage;
    uint8_t dynamic;    /* its shape is only known when its node is reached, or hangs on such a shape */
    uint8_t shaped;     /* the shape is known (predicted, for dynamic ones) */
    uint8_t touched;    /* its shape changed since the last settling */
    int32_t root;       /* the tensor whose memory it shares in place; itself when it shares none */
    int32_t fold_room;  /* bytes at fold_place */
    void *fold_place;   /* where its folded value is kept; stays when the node is prepared again */
} ml_tensor;

/* Where and why the first failure happened. */
typedef struct ml_error {
    int32_t status;
    int32_t subgraph; /* -1 when no node is to blame */
    int32_t node;
    int32_t tensor; /* with `other`: the tensors that the text names by number, in `subgraph`; -1 = none */
    int32_t other;
    int32_t reserved;
    int64_t needed;
    int64_t available;
    char text[240];
} ml_error;

/* The loading description ------------------------------------------------------------------------------------------ */

typedef enum { ML_TENSOR_VARIABLE = 1 } ml_tensor_flag;

typedef struct ml_tensor_def {
    const void *data;   /* a constant's bytes, kept alive by the caller; NULL if computed */
    int64_t bytes;
    int32_t type;
    int32_t flags;
    ml_shape shape;     /* the file's */
    int32_t reserved;
    int64_t offline_offset; /* where the file's own memory plan puts it, in force for the file's shapes; -1 = nowhere */
} ml_tensor_def;

typedef enum {
    ML_NODE_PYTHON = 1,        /* eval runs in Python, whatever the kernel has */
    ML_NODE_VIEW = 2,          /* output 0 holds input 0's bytes unchanged */
    ML_NODE_TFLITE_SHARES = 4, /* TFLite's planner shares in place for this operator */
    ML_NODE_IN_PLACE = 256     /* << i: output 0 may overwrite input i, i < 8 */
} ml_node_flag;

typedef struct ml_node_def {
    int32_t kernel;        /* number from ml_kernel_find */
    int32_t flags;         /* ml_node_flag */
    int32_t index;         /* the file's node number */
    int32_t handler;       /* the caller's number for the node, passed to the hooks */
    int32_t io_start;      /* its inputs, then its outputs, in ml_graph_def.io; -1 = absent */
    int32_t n_inputs;
    int32_t n_outputs;
    int32_t subgraphs[2];  /* subgraphs it calls (condition, body); -1 = none */
    int32_t reserved;
    int64_t params_start;  /* in ml_graph_def.params */
} ml_node_def;

typedef struct ml_subgraph_def {
    int32_t n_tensors;
    int32_t n_nodes;
    int32_t inputs_start;  /* in ml_graph_def.io */
    int32_t n_inputs;
    int32_t outputs_start;
    int32_t n_outputs;
} ml_subgraph_def;

/* Tensors and nodes of all subgraphs, one subgraph after the other. Everything but the tensors' data is copied. */
typedef struct ml_graph_def {
    const ml_subgraph_def *subgraphs;
    const ml_tensor_def *tensors;
    const ml_node_def *nodes;
    const int32_t *io;
    const uint8_t *params;
    int64_t params_bytes;
    int64_t n_io;
    int32_t n_subgraphs;
    int32_t n_resources;
    int32_t root;          /* the subgraph that frame 0 runs */
    int32_t reserved;
} ml_graph_def;

typedef struct ml_graph ml_graph;
typedef struct ml_plan ml_plan;
typedef struct ml_state ml_state;

/* A parameter of a kernel: how Python packs it. kind: 'i' int32, 'q' int64, 'f' float, 'd' double, 'a' ml_array. */
typedef struct ml_field {
    const char *name;
    char kind;
    int32_t offset;
} ml_field;

typedef struct ml_array {
    const void *data;
    int64_t bytes;
} ml_array;

typedef struct ml_kernel_info {
    const char *name;
    const ml_field *fields;
    int32_t n_fields;
    int32_t params_bytes;
    int32_t has_eval;
} ml_kernel_info;

/* The number of a kernel by name, -1 if there is none; and what Python has to know of kernel `number` (NULL past the last). */
int32_t ml_kernel_find(const char *name);
const ml_kernel_info *ml_kernel_get_info(int32_t number);

ml_status ml_graph_new(const ml_graph_def *def, ml_graph **graph, ml_error *error);
/* States and plans hold their graph: it goes with the last of them. */
void ml_graph_free(ml_graph *graph);

/* Running -------------------------------------------------------------------------------------------------------------- */

/* What eval works on: its node's tensors by position, through the inline readers of kernel.h. */
typedef struct ml_call {
    const void *params;
    const void *blob;
    void *scratch;
    const int32_t *inputs;
    const int32_t *outputs;
    void **data;              /* the frame's pointers by tensor; data[-1] is NULL for absent inputs */
    ml_tensor *tensors;       /* the frame's tensors; tensors[-1] is an absent input's */
    ml_error *error;
    ml_state *state;
    int32_t n_inputs;
    int32_t n_outputs;
    int32_t handler;
    int32_t frame;
    int32_t node;             /* position in its subgraph */
    int32_t reserved;
} ml_call;

/* C calls these from the thread that called run or prepare, never from pool threads. Each returns an ml_status. */
typedef struct ml_hooks {
    void *owner;
    int32_t (*eval)(void *owner, ml_call *call);
    int32_t (*shape)(void *owner, ml_call *call, ml_shape *outputs); /* a custom operator's shape function */
    int32_t (*poll)(void *owner);                                     /* lets Python handle signals */
} ml_hooks;

typedef enum {
    ML_KEEP_INPUTS = 1,      /* graph inputs are kept to the end of a run, as LiteRT does */
    ML_KEEP_ALL = 2,         /* every tensor is kept: no reuse, no sharing */
    ML_SHARE_TFLITE = 4,     /* share in place where TFLite does */
    ML_SHARE_WIDE = 8,       /* share in place wherever the operator allows it, last consumer included */
    ML_FREE_UNREAD = 16,     /* a tensor nobody reads is freed at once (TFLite keeps it) */
    ML_SEARCH_LONG = 64,     /* place by the exact search, within 20 000 search nodes */
    ML_KEEP_SMALLER = 32     /* plan again without sharing when sharing misses its lower bound; keep the smaller */
} ml_option;

typedef struct ml_counters {
    int64_t invokes;
    int64_t plans;            /* plans made from scratch */
    int64_t plan_hits;        /* prepares answered from the cache */
    int64_t suffix_plans;     /* re-plans behind a node in mid-run */
    int64_t nodes_prepared;
    int64_t arena_moves;      /* times the arena's base changed */
    int64_t resolves;         /* times the pointer table was rewritten */
    int64_t rebinds;          /* times other buffers were put under the plan in force: nothing else was resolved */
    int64_t plans_improved;   /* plans that a longer search made smaller when their shapes came back */
} ml_counters;

ml_status ml_state_new(ml_graph *graph, const char *strategy, int32_t options, const ml_hooks *hooks, ml_state **state,
                       ml_error *error);
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
ml_status ml_state_prepare(ml_state *state, const int32_t *spec, int32_t words, const ml_binding *bindings, int32_t n_bindings,
                           ml_error *error);
/* Makes the plan for these shapes and the buffers in force, without putting it in force; the caller frees it. */
ml_status ml_state_plan_for(ml_state *state, const int32_t *spec, int32_t words, ml_plan **plan, ml_error *error);
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
/* Zeroes variable tensors and forgets resource variables and what CALL_ONCE has run. */
ml_status ml_state_reset_variables(ml_state *state, ml_error *error);

const ml_counters *ml_state_counters(const ml_state *state);
ml_plan *ml_state_plan(const ml_state *state);
/* NULL for a tensor that has no memory now. */
void *ml_state_data(const ml_state *state, int32_t frame, int32_t tensor);
int64_t ml_state_arena_capacity(const ml_state *state);
uint64_t ml_state_generation(const ml_state *state); /* changes whenever a pointer or a shape does */

int32_t ml_plan_frames(const ml_plan *plan);
/* The subgraph that a frame runs, and the frame and node (its position) that call it; -1 for the main frame. */
int32_t ml_plan_frame_subgraph(const ml_plan *plan, int32_t frame, int32_t *parent, int32_t *node);
const ml_tensor *ml_plan_tensor(const ml_plan *plan, int32_t frame, int32_t tensor);
int64_t ml_plan_arena_bytes(const ml_plan *plan);
int64_t ml_plan_lower_bound(const ml_plan *plan);
/* Bytes of the work block that small scratch is taken from, beside the arena: at most 64 KiB, whatever the model. */
int64_t ml_plan_work_bytes(const ml_plan *plan);
/* What becomes of a node: 0 waits for shapes, 1 runs, 2 is folded, 3 is a view; -1 past the last. */
int32_t ml_plan_node_status(const ml_plan *plan, int32_t frame, int32_t node);
/* What the main frame's arena would be if these tensors left it, planned by the strategy that planned it. */
typedef struct ml_outlook {
    int64_t arena_bytes;
    int64_t lower_bound;
    int32_t peaks; /* nodes at which lower_bound bytes are live */
    int32_t reserved;
} ml_outlook;
ml_status ml_plan_without(const ml_plan *plan, const int32_t *tensors, int32_t count, ml_outlook *outlook, ml_error *error);

/* For hooks: gives output `i` of a SETS_SHAPES node its shape, then settles places; pointers are valid after settling. */
ml_status ml_set_run_shape(ml_call *call, int32_t i, const ml_shape *shape);
ml_status ml_settle(ml_call *call);
