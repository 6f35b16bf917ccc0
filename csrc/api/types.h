/* types.h -- statuses, element types, shapes, tensors and errors: the types that all of the C core
 * uses.
 *
 * Three objects matter most.
 *
 *   ml_graph  what never changes after loading: subgraphs, tensors as the file states them, nodes
 *             with their kernels and parameters, the readers of each tensor, and the frames: one
 *             per place a subgraph is run from (the main subgraph is frame 0; a WHILE adds a frame
 *             for its condition and one for its body). Shared, read-only, by every interpreter of a
 *             Model.
 *   ml_plan   everything that depends on shapes alone, for one set of input shapes: every tensor's
 *             shape, bytes and place, each node's prepared blob, folded values. It holds offsets,
 *             never pointers into an arena, and never changes once made: a refused resize leaves
 *             the old one in use, and plans are held, printed and shared while runs go on.
 *   ml_state  one signature in use of an ml_interpreter: arena, variables, bound buffers, and for
 *             each plan it uses a residence: that plan in this state's memory (pointers, steps) and
 *             what runs have learnt beyond it (shapes and capacities of dynamic tensors, nodes
 *             prepared again, places of what grew).
 *
 * An ml_interpreter holds what all states of one interpreter share: the turn, resources, the cancel
 * flag.
 *
 * A kernel is `prepare` (pure: shapes of its outputs, blob, scratch bytes) and `eval` (writes its
 * outputs). An output whose shape depends on values that are unknown is open: when its node is
 * reached, the same prepare runs again, now with all values. A node without a C eval runs its numpy
 * reference through ml_hooks. kernel.h is the contract.
 *
 * Storage of a tensor, and who owns and writes it:
 *   constant    bytes of the file or of the lowering; owned by the graph; never written
 *   folded      computed during prepare from known values; owned by the plan; never written again
 *   arena       owned by the state, at its residence's offset; reused by tensors with disjoint
 *               lifetimes
 *   persistent  variable tensors; owned by the state; zeroed when allocated, kept between runs
 *   bound       the caller's buffer; never moved or freed here
 *   input       a graph input: the caller's array during a run that was given one, else a
 *               place in the state's memory for inputs, taken when something needs it
 *   slot        a loop-carried value or a branch's operand; placed by the node that calls the
 *               subgraph
 *   heap        values of variable size (strings); blocks of the state, which keep their room
 *               between runs
 * (A RESOURCE tensor holds the number of a variable or table of the interpreter, in one of the
 * storages above.)
 *
 * Every call that can fail returns an ml_status, and writes the reason into the ml_error that the
 * caller passed (except for ML_BUSY, which changes nothing). The calls of each inference, to
 * prepare and to run a state, return the address of an ml_error instead, which ml_error_free frees,
 * or 0 for ML_OK: so a call that works needs no ml_error, and two threads never read each other's.
 * All shapes are (rank, dims), all sizes bytes in int64_t with checked arithmetic, all node ranges
 * inclusive at both ends. */

#define ML_MAX_RANK 8
#define ML_FOLD_ELEMENTS 64

typedef enum {
    ML_OK = 0,
    ML_SHAPE_ERROR = 1, /* a node refuses its shapes */
    ML_ARENA_ERROR = 2, /* memory is short: needed, available */
    ML_KERNEL_ERROR = 3, /* a node failed on its values */
    ML_CANCELLED = 4, /* the cancel flag or a signal stopped the run */
    ML_PYTHON_ERROR = 5, /* a hook raised; Python keeps the exception */
    ML_BUSY = 6, /* another call is running on this state */
    ML_VIEW_HELD = 7, /* memory of a live view would move or be freed */
    ML_NOT_READY = 8, /* no plan is in use */
    ML_GRAPH_ERROR = 9, /* the graph cannot be run: cycles, too many frames */
    ML_BINDING_ERROR = 10, /* a caller's buffer does not suit its tensor */
    ML_UNSUPPORTED = 11, /* a node's types, options or quantization have no kernel */
    ML_LENT = 12, /* an input has no value: the last run read it in the caller's array */
    ML_SHARED = 13 /* another interpreter of the workspace has its memory */
} ml_status;

/* Element types, by their codes in the file format. */
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
    ML_BF16 = 18,
    ML_S2 = 19,
    ML_U4 = 20,
    ML_F8E4M3 = 21,
    ML_F8E5M2 = 22
} ml_type;

typedef enum {
    ML_STORAGE_NONE = 0, /* absent, or between nodes that run as one: fused, or in patches */
    ML_STORAGE_CONSTANT = 1,
    ML_STORAGE_FOLDED = 2,
    ML_STORAGE_ARENA = 3,
    ML_STORAGE_PERSISTENT = 4,
    ML_STORAGE_BOUND = 5,
    ML_STORAGE_SLOT = 6,
    ML_STORAGE_HEAP = 7,
    ML_STORAGE_INPUT = 8
} ml_storage;

typedef struct ml_shape {
    int32_t rank;
    int32_t dims[ML_MAX_RANK];
} ml_shape;

/* A side of a rectangle: indices first <= i < end of a dimension. */
typedef struct ml_side {
    int32_t first;
    int32_t end;
} ml_side;

/* A part of a tensor of rank 3 or 4: dimension 1 (rows) and dimension 2 (columns) within these
 * ranges, the other dimensions whole. */
typedef struct ml_rectangle {
    ml_side side[2]; /* rows, columns */
} ml_rectangle;

/* A tensor in a plan or a residence. */
typedef struct ml_tensor {
    const void *known; /* its value, where that is known before any run; else NULL */
    int64_t offset; /* in its frame's region; -1 while unplaced, and of what lies elsewhere */
    int64_t bytes; /* of the current shape; heap tensors: 0 */
    ml_shape shape;
    int32_t root; /* the tensor whose memory it shares in place, or itself */
    uint8_t type; /* ml_type */
    uint8_t storage; /* ml_storage */
    uint8_t shaped; /* its shape is known */
    uint8_t dynamic; /* runs may change its shape: it is open, or depends on an open one */
} ml_tensor;

/* The meaning of a quantized tensor's integers: real = scale * (integer - zero_point). */
typedef struct ml_quantization {
    const float *scales; /* one, or one per index of `dimension` */
    const int64_t *zero_points; /* as many as scales, or one */
    int32_t n_scales; /* 0: not quantized */
    int32_t n_zero_points;
    int32_t dimension;
    int32_t block_size; /* of blockwise quantization along the last dimension; 0 = none */
} ml_quantization;

/* Where and why the first failure happened. */
enum { ML_ERROR_TENSORS = 4 };

typedef struct ml_error {
    ml_status status;
    int32_t subgraph; /* -1 if no node is to blame */
    int32_t node;
    /* The tensors that the error is about, by number in `subgraph`: those that the text names, else
     * the first inputs of the node. In the text, the bytes 1 and 2 are the places of the first and
     * the second: whoever shows it puts their numbers and names there. */
    int32_t n_tensors;
    int32_t tensors[ML_ERROR_TENSORS];
    ml_shape shapes[ML_ERROR_TENSORS]; /* of these tensors; rank -1 = unknown */
    int64_t needed;
    int64_t available;
    char text[240];
} ml_error;

typedef struct ml_graph ml_graph;
typedef struct ml_plan ml_plan;
typedef struct ml_state ml_state;
typedef struct ml_interpreter ml_interpreter;
typedef struct ml_workspace ml_workspace;
typedef struct ml_kernel ml_kernel;
typedef struct ml_call ml_call;
