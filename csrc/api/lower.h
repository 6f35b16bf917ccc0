/* lower.h -- lowering: a file's rows become the loading description of load.h, node by node, by the
 * rows of the operators' kernels.
 *
 * ml_lowering_run goes through the nodes in the file's order, and returns at each node for which it
 * needs the caller. The caller does what `need` says and calls again. Nodes that cannot be run are
 * collected in `refused`; a graph can be made only if there are none. */

typedef enum {
    ML_NEEDS_NOTHING = 0, /* every node is lowered or refused */
    /* No row runs its operator, or the caller runs it: call ml_lowering_put or ml_lowering_skip. */
    ML_NEEDS_NODE,
    /* Some of its constant inputs are sparse: the caller writes their dense values into
     * `tensors`. */
    ML_NEEDS_DENSE,
    /* Its input 0 is constant, and so are its outputs: the caller puts their values into `tensors`
     * and calls ml_lowering_skip. */
    ML_NEEDS_VALUES
} ml_lowering_need;

typedef struct ml_lowering {
    /* Complete once `need` is ML_NEEDS_NOTHING. Everything it points to belongs to the lowering. */
    ml_graph_def description;
    /* The tensors of the description; they may be changed until a graph is made. */
    ml_tensor_def *tensors;
    const ml_file *file;
    int64_t n_tensors; /* of all subgraphs */
    int64_t n_nodes;
    int32_t need; /* ml_lowering_need */
    int32_t subgraph; /* of the node at which it stopped */
    int32_t node;
    int32_t n_deep; /* tensors of more than ML_MAX_RANK dimensions, whose shapes are omitted */
    /* An error per node that cannot be run, in the file's order. An empty text means that its row
     * does not take this number of operands or these types. */
    const ml_error *refused;
    int32_t n_refused;
    int32_t reserved;
    int64_t dense_left; /* bytes that dense forms of sparse constants may still take */
} ml_lowering;

/* The lowering holds the store, which keeps constants of 16-bit floats as float32; `simd` widens
 * them. `callers` has a byte per operator code of the file: 1 = the caller runs these nodes itself;
 * NULL: none. With `reference`, nodes run their numpy references if they have one. The file must
 * outlive the lowering. ML_GRAPH_ERROR if the model has 2^31 nodes or tensors or more;
 * ML_ARENA_ERROR. */
ml_status ml_lowering_new(const ml_file *file, ml_store *store, const struct ml_simd *simd,
                          const uint8_t *callers, int32_t reference, ml_lowering **lowering,
                          ml_error *error);
ml_status ml_lowering_run(ml_lowering *lowering, ml_error *error);
/* Gives the result for the node at which lowering stopped; fields are as in ml_node_def.
 * Parameters, and the numbers of the subgraphs that it calls, are copied. */
ml_status ml_lowering_put(ml_lowering *lowering, const ml_kernel *kernel, int32_t typed,
                          int32_t flags, const void *params, const int32_t *subgraphs,
                          int32_t n_subgraphs, ml_error *error);
/* Leaves out the node at which lowering stopped: it has become a constant, or is refused. */
void ml_lowering_skip(ml_lowering *lowering);
/* True if a node's outputs may depend on earlier runs: it has memory of its own, or an operand that
 * is a variable or a resource. Nodes in subgraphs that it calls are asked for themselves. */
int32_t ml_lowering_keeps(const ml_lowering *lowering, int32_t first_tensor,
                          const ml_node_def *node);
/* A resource of the model: the operator that makes its handle, and the names in that node. */
typedef struct ml_resource_row {
    const char *op;
    ml_array names[2]; /* container and name of a variable */
    int64_t number; /* of a table */
} ml_resource_row;
/* Number `index`, below n_resources of the description. */
ml_resource_row ml_lowering_resource(const ml_lowering *lowering, int32_t index);
void ml_lowering_free(ml_lowering *lowering);
