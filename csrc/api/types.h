/* types.h -- statuses, element types, shapes, tensors: what all of the C core speaks of, seen from
 * Python and from C.
 *
 * Three objects decide everything.
 *
 *   ml_graph  what never changes after loading: subgraphs, tensors as the file states them, nodes
 *             with their kernels and parameters, who reads what, and the frames: one per place a
 *             subgraph is run from (the main subgraph is frame 0; a WHILE adds a frame for its
 *             condition and one for its body). Shared, read-only, by every interpreter of a Model.
 *   ml_plan   everything that depends on shapes alone, for one set of input shapes: every tensor's
 *             shape, bytes and place, each node's prepared blob, folded values. It holds offsets,
 *             never pointers into an arena, and never changes once made: a refused resize leaves
 *             the old one in force, and plans are held, printed and shared while runs go on.
 *   ml_state  one signature in use of an ml_interpreter: arena, variables, bound buffers, and for
 *             each plan it uses a residence: that plan in this state's memory (pointers, steps) and
 *             what runs have learnt beyond it (shapes and capacities of dynamic tensors, nodes
 *             prepared again, places of what grew).
 *
 * An ml_interpreter is what all states of one interpreter share: whose turn it is, resources, the
 * cancel flag.
 *
 * A kernel is `prepare` (pure: shapes of its outputs, blob, scratch bytes) and `eval` (writes its
 * outputs). An output whose shape depends on values that are unknown is open: when its node is
 * reached, the very same prepare runs again, now with every value at hand. A node without a C eval
 * runs its numpy reference through ml_hooks. kernel.h is the contract.
 *
 * Storage of a tensor, and who may do what with it:
 *   constant    the file's or the lowering's bytes; owned by the graph; never written
 *   folded      computed during prepare from known values; owned by the plan; never written again
 *   arena       owned by the state, at its residence's offset; reused by tensors with disjoint
 *               lifetimes
 *   persistent  variable tensors; owned by the state; zeroed when allocated, kept between runs
 *   bound       the caller's buffer; never moved or freed here
 *   slot        a loop-carried value or a branch's operand; placed by the node that calls the
 *               subgraph
 *   heap        values of no fixed size (strings); blocks of the state's, which keep their room
 *               between runs
 * (A RESOURCE tensor holds the number of a variable or table of the interpreter's, in one of the
 * above.)
 *
 * Every call returns an ml_status; what went wrong stands in the ml_error that the caller passed
 * (but for ML_BUSY, which touches nothing). All shapes are (rank, dims), all sizes bytes in int64_t
 * with checked arithmetic, all node ranges inclusive at both ends. */

#define ML_MAX_RANK 8
#define ML_FOLD_ELEMENTS 64

typedef enum {
    ML_OK = 0,
    ML_SHAPE_ERROR = 1, /* a node refuses its shapes */
    ML_ARENA_ERROR = 2, /* memory is short: needed, available */
    ML_KERNEL_ERROR = 3, /* a node failed on its values */
    ML_CANCELLED = 4, /* the cancel flag or a signal stopped the run */
    ML_PYTHON_ERROR = 5, /* a hook raised; the exception waits in Python */
    ML_BUSY = 6, /* another call is running on this state */
    ML_VIEW_HELD = 7, /* memory would move or go under a live view */
    ML_NOT_READY = 8, /* no plan is in force */
    ML_GRAPH_ERROR = 9, /* the graph cannot be run: cycles, too many frames */
    ML_BINDING_ERROR = 10, /* a caller's buffer cannot stand in for its tensor */
    ML_UNSUPPORTED = 11 /* a node's types, options or quantization have no kernel */
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
    ML_BF16 = 18,
    ML_S2 = 19,
    ML_U4 = 20,
    ML_F8E4M3 = 21,
    ML_F8E5M2 = 22
} ml_type;

typedef enum {
    ML_STORAGE_NONE = 0, /* absent, or hidden by fusion */
    ML_STORAGE_CONSTANT = 1,
    ML_STORAGE_FOLDED = 2,
    ML_STORAGE_ARENA = 3,
    ML_STORAGE_PERSISTENT = 4,
    ML_STORAGE_BOUND = 5,
    ML_STORAGE_SLOT = 6,
    ML_STORAGE_HEAP = 7
} ml_storage;

typedef struct ml_shape {
    int32_t rank;
    int32_t dims[ML_MAX_RANK];
} ml_shape;

/* A tensor in a plan or a residence. */
typedef struct ml_tensor {
    union {
        const void *known; /* constant, folded, slot: its value, NULL while it is not known */
        int64_t offset; /* of all others: in its frame's region, -1 while unplaced */
    };
    int64_t bytes; /* of the current shape; heap tensors: 0 */
    ml_shape shape;
    int32_t root; /* the tensor whose memory it shares in place; itself when it shares none */
    uint8_t type; /* ml_type */
    uint8_t storage; /* ml_storage */
    uint8_t shaped; /* its shape is known */
    uint8_t dynamic; /* its shape is open, or depends on one that is: runs may change it */
} ml_tensor;

/* How a quantized tensor's integers stand for reals: real = scale * (integer - zero_point). */
typedef struct ml_quantization {
    const float *scales; /* one, or one an index of `dimension` */
    const int64_t *zero_points; /* as many, or one */
    int32_t n_scales; /* 0: not quantized */
    int32_t n_zero_points;
    int32_t dimension;
    int32_t block_size; /* of blockwise quantization along the last dimension; 0 = none */
} ml_quantization;

/* Where and why the first failure happened. */
enum { ML_ERROR_TENSORS = 4 };

typedef struct ml_error {
    int32_t status;
    int32_t subgraph; /* -1 when no node is to blame */
    int32_t node;
    /* The tensors it is about, by number in `subgraph`: those that the text names, else the first
     * inputs of the node. The text has the bytes 1 and 2 where it names the first and the second:
     * whoever shows it writes their numbers and names there. */
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
typedef struct ml_kernel ml_kernel;
typedef struct ml_call ml_call;
