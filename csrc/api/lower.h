/* lower.h -- lowering: a file's rows become the loading description of load.h, but for what Python
 * says of each kind of node.
 *
 * Two calls. ml_lowering_new fills the tensors from the rows and sorts the nodes into kinds: nodes
 * of one kind lower alike, so one answer serves all of them, and most it knows itself
 * (graph/answer.c). ml_lowering_fill takes the answers and fills the nodes. A kind's key says all
 * that its answer hangs on, and nothing of the file it is in, so answers may be kept from file to
 * file. */

/* What an operator's nodes hang on, an int32 an ml_operator_row. None: each node is a kind of its
 * own. */
typedef enum {
    /* On operator, version, options, types and quantization classes of operands. */
    ML_TRAIT_KIND = 1,
    ML_TRAIT_SCALES = 2, /* on scales and zero points, too */
    /* On scales where an input's is above ML_TAME_RATIO times the output's, or types have 16
     * bits. */
    ML_TRAIT_RATIO = 4,
    /* A node with a constant input 0 becomes a constant: it is a kind of its own. */
    ML_TRAIT_FOLDS = 8,
    ML_TRAIT_FOLLOWS = 256 /* << i, i < 8: output 0 takes the type of input i */
} ml_trait;

#define ML_TAME_RATIO 64

typedef struct ml_kind {
    int64_t key_start; /* in ml_lowering.keys */
    int32_t key_bytes; /* 0: a kind of its one node */
    int32_t subgraph; /* of its first node */
    int32_t node;
    int32_t reserved;
} ml_kind;

/* What the nodes of a kind lower to. */
typedef struct ml_answer {
    const ml_kernel *kernel;
    const void *params;
    const int32_t *subgraphs; /* that it calls */
    int32_t params_bytes;
    int32_t n_subgraphs;
    int32_t typed; /* as in ml_node_def */
    int32_t flags; /* the same, or ML_ANSWER_WIDENS alone */
} ml_answer;

/* Constant halves become constant floats, and the node vanishes. */
#define ML_ANSWER_WIDENS 128

typedef struct ml_lowering {
    /* Subgraphs, tensors, nodes, quantizations, io and params are the lowering's. */
    ml_graph_def description;
    /* The description's, which may be changed until a graph is made: tensors that fold. */
    ml_tensor_def *tensors;
    const ml_kind *kinds; /* in the order of their first nodes */
    const uint8_t *keys;
    int64_t key_bytes; /* of all keys */
    const int32_t *node_kinds; /* by node of all subgraphs */
    const ml_answer *const
        *known; /* by kind: what C knows of the operators' rows; NULL: Python says it */
    int64_t n_tensors; /* of all subgraphs */
    int64_t n_nodes;
    int32_t n_kinds;
    int32_t n_known; /* answers that are there */
    int32_t reserved;
    int32_t n_deep; /* tensors of more than ML_MAX_RANK dimensions, whose shapes are left out */
    const ml_file *file;
} ml_lowering;

/* The file outlives the lowering.
 * ML_GRAPH_ERROR when all nodes or tensors together are more than 31 bits count, ML_ARENA_ERROR. */
ml_status ml_lowering_new(const ml_file *file, ml_lowering **lowering, ml_error *error);
/* Answers by kind; nodes of a kind without one (NULL) vanish, those that widen are done here. A
 * node's handler is its number in the file, all subgraphs counted through. Everything is copied. */
ml_status ml_lowering_fill(ml_lowering *lowering, const ml_answer *const *answers, ml_error *error);
void ml_lowering_free(ml_lowering *lowering);
