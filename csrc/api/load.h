/* load.h -- loading: the description of a model, from which ml_graph_new makes a graph, and the
 * table of kernels. */

/* The loading description ---------------------------------------------------------------------- */

typedef enum {
    ML_TENSOR_VARIABLE = 1,
    /* Its constant is stored in sparse form, in fewer bytes than its shape takes. */
    ML_TENSOR_SPARSE = 4,
    ML_TENSOR_HIDDEN = 8, /* set by the graph: lies between two fused nodes */
    ML_TENSOR_OF_FILE = 2 /* its constant bytes live as long as the store */
} ml_tensor_flag;

/* Packed weights, shared by all graphs of a Model. */
typedef struct ml_store ml_store;
ml_status ml_store_new(ml_store **store, ml_error *error);
/* Adds a holder. The store is freed when the last holder frees it. */
ml_store *ml_store_hold(ml_store *store);
void ml_store_free(ml_store *store);
int64_t ml_store_bytes(ml_store *store);
/* Says that the constants lie in these bytes of a file that is mapped to be read: the memory of
 * those that were packed is given back. Once, before the first graph. */
void ml_store_map(ml_store *store, const void *data, int64_t bytes);

typedef struct ml_tensor_def {
    const void *data; /* a constant's bytes, kept alive by the caller; NULL if computed */
    const void *halves; /* the constant of the file that was widened to `data`; NULL: none */
    int64_t bytes;
    int32_t type;
    int32_t flags;
    ml_shape shape; /* in the file */
    int32_t quantization; /* in ml_graph_def.quantizations; -1 = none */
    /* Its offset in the memory plan of the file, which holds for the shapes in the file; -1 =
     * none. */
    int64_t offline_offset;
} ml_tensor_def;

typedef enum {
    ML_NODE_PYTHON = 1, /* runs in Python, even if the kernel has an eval */
    ML_NODE_VIEW = 2, /* output 0 holds input 0's bytes unchanged */
    ML_NODE_FUSED = 8, /* set by the graph: another node does its work */
    /* Set by the graph: output 0 is a variable's own bytes; eval checks whether its shape has
     * changed. */
    ML_NODE_BORROWS = 16,
    ML_NODE_TFLITE_SHARES = 4, /* TFLite's planner shares in place for this operator */
    ML_NODE_IN_PLACE = 256 /* << i: output 0 may overwrite input i, i < 8 */
} ml_node_flag;

typedef struct ml_node_def {
    const ml_kernel *kernel;
    /* Row of the kernel's table, from ml_kernel_match; -1: the numpy reference runs. */
    int32_t typed;
    int32_t flags; /* ml_node_flag */
    int32_t index; /* the node's number in the file */
    int32_t handler; /* the caller's number for the node, passed to the hooks */
    /* Its part of ml_graph_def.io: inputs (-1 = absent), outputs, the subgraphs it calls. */
    int32_t io_start;
    int32_t n_inputs;
    int32_t n_outputs;
    int32_t n_subgraphs; /* condition and body of a WHILE, the branches of an IF */
    int64_t params_start; /* in ml_graph_def.params */
} ml_node_def;

typedef struct ml_subgraph_def {
    int32_t n_tensors;
    int32_t n_nodes;
    int32_t inputs_start; /* in ml_graph_def.io */
    int32_t n_inputs;
    int32_t outputs_start;
    int32_t n_outputs;
} ml_subgraph_def;

/* Tensors and nodes of all subgraphs, one subgraph after the other. Everything except the tensors'
 * data is copied. */
typedef struct ml_graph_def {
    const ml_subgraph_def *subgraphs;
    const ml_tensor_def *tensors;
    const ml_node_def *nodes;
    const struct ml_simd *simd; /* the primitives of its level */
    ml_store *store; /* held by the graph */
    const ml_quantization *quantizations; /* copied; their arrays are kept alive by the caller */
    const int32_t *io;
    const uint8_t *params;
    int64_t params_bytes;
    int64_t n_io;
    int32_t n_subgraphs;
    int32_t n_resources;
    int32_t root; /* the subgraph that frame 0 runs */
    int32_t n_quantizations;
    int64_t larger_bytes; /* what packed weights of larger forms may take in all */
    int32_t fuses; /* nodes may be fused, which hides the tensors between them */
    int32_t fast_convolutions; /* those of floats may round more, to be faster */
} ml_graph_def;

/* Where lowering finds the value of a parameter. kernel.h has a macro for each: ML_OPTION etc. */
typedef enum {
    ML_FIELD_OPTION = 0,
    ML_FIELD_POSITIVE,
    ML_FIELD_SAME_PADDING,
    ML_FIELD_LEAST,
    ML_FIELD_MOST,
    ML_FIELD_CONSTANT,
    ML_FIELD_NUMBER,
    ML_FIELD_COUNT,
    ML_FIELD_FLAG,
    ML_FIELD_BY_CHECK
} ml_field_rule;

/* A parameter of a kernel. kind: 'i' int32, 'q' int64, 'f' float, 'd' double, 'a' ml_array. */
typedef struct ml_field {
    const char *name;
    char kind;
    int32_t offset;
    int32_t rule; /* ml_field_rule */
    int32_t has_preset; /* `constant` is used if the option is missing */
    const char *option; /* name of the option; NULL: the same as the field's */
    double constant;
    double least; /* limits of ML_FIELD_COUNT, both inclusive */
    double most;
} ml_field;

typedef struct ml_array {
    const void *data;
    int64_t bytes;
} ml_array;

/* The fields of a kernel that Python needs. */
typedef struct ml_kernel_info {
    const char *name;
    const ml_field *fields;
    int32_t n_fields;
    int32_t params_bytes;
    int32_t flags;
    /* The same as in ml_kernel. */
    const char *op;
    const char *takes;
    const char *calls;
    uint64_t writes;
    int32_t first_version;
    int32_t last_version;
    int32_t custom;
    int32_t in_place;
    int32_t follows;
    int32_t quantization;
    int32_t is_view;
    int32_t tflite_shares;
    int32_t folds;
    int32_t has_reference;
    int32_t has_window;
} ml_kernel_info;

/* The kernel of that name, or NULL. Built-in kernel number `index`, or NULL after the last. */
const ml_kernel *ml_kernel_find(const char *name);
const ml_kernel *ml_kernel_at(int32_t index);
/* The family of a built-in kernel: the stem of its file in csrc/kernels or csrc/control. */
const char *ml_kernel_family(const ml_kernel *kernel);
/* The row that runs an operator, or NULL. If there are several, the one whose first version is the
 * highest that is not above `version`. */
const ml_kernel *ml_kernel_of(const char *op, int64_t bytes, int32_t custom, int32_t version);
/* The same for a builtin operator, by its code too: the rows of operators that were looked for in
 * this process are found at once. */
const ml_kernel *ml_kernel_of_builtin(int64_t op, const char *name, int64_t bytes, int32_t version);
/* ML_GRAPH_ERROR as for a node of that kernel: the row has another version, or is incomplete. */
ml_status ml_kernel_describe(const ml_kernel *kernel, ml_kernel_info *info, ml_error *error);
/* The first row of the kernel's table that takes these operand types (-1 = absent; inputs, then
 * outputs); -1 if no row does. */
int32_t ml_kernel_match(const ml_kernel *kernel, const int32_t *types, int32_t n_inputs,
                        int32_t n_outputs);
/* The operand types of row `index` of the kernel's table, NULL past the last; *has_eval: it runs in
 * C. */
const char *ml_kernel_types(const ml_kernel *kernel, int32_t index, int32_t *has_eval);
/* Multiply-adds of a node that the kernel runs, of `n_inputs` shapes and then those of its outputs
 * (at least one); an operand that is absent has rank 0. -1: it does not consist of products. */
int64_t ml_kernel_multiply_adds(const ml_kernel *kernel, const ml_shape *shapes, int32_t n_inputs);

/* Nodes refused for their quantization give one error each, at most `n_errors` (>= 1); unused
 * errors are ML_OK. */
ml_status ml_graph_new(const ml_graph_def *def, ml_graph **graph, ml_error *errors,
                       int32_t n_errors);
/* Gives up one hold. States and plans hold their graph too; it is freed with the last of them. */
void ml_graph_free(ml_graph *graph);
/* The parameters of the node at a position of the main frame, in the layout of its kernel; NULL if
 * there is no such node. */
const void *ml_graph_params(const ml_graph *graph, int32_t position, int32_t *bytes);
/* Bytes that kernels keep from run to run, in the value of a snapshot's row ML_KEPT_NODES: those of
 * a node of the main subgraph, or of a subgraph that is run for it. */
typedef struct ml_memory_row {
    int64_t start;
    int64_t bytes;
    int32_t node; /* its number in the file */
} ml_memory_row;
/* Writes at most `room` of them, in ascending order of start, and returns how many there are. They
 * are next to each other. */
int32_t ml_graph_memories(const ml_graph *graph, ml_memory_row *rows, int32_t room);
