/* load.h -- loading: the description of a model that ml_graph_new copies, and the kernels there
 * are. */

/* The loading description ---------------------------------------------------------------------- */

typedef enum {
    ML_TENSOR_VARIABLE = 1,
    /* Its constant bytes are those of a sparse form: fewer than the shape says. */
    ML_TENSOR_SPARSE = 4,
    ML_TENSOR_HIDDEN = 8, /* the graph's: between two nodes that are one */
    ML_TENSOR_OF_FILE = 2 /* its constant bytes live as long as the store */
} ml_tensor_flag;

/* Packed weights, shared by all graphs of a Model. */
typedef struct ml_store ml_store;
ml_store *ml_store_new(void); /* NULL without memory */
/* One more holder; it goes with the last one's free. */
ml_store *ml_store_hold(ml_store *store);
void ml_store_free(ml_store *store);
int64_t ml_store_bytes(ml_store *store);

typedef struct ml_tensor_def {
    const void *data; /* a constant's bytes, kept alive by the caller; NULL if computed */
    int64_t bytes;
    int32_t type;
    int32_t flags;
    ml_shape shape; /* the file's */
    int32_t quantization; /* in ml_graph_def.quantizations; -1 = none */
    /* Where the file's own memory plan puts it, in force for the file's shapes; -1 = nowhere. */
    int64_t offline_offset;
} ml_tensor_def;

typedef enum {
    ML_NODE_PYTHON = 1, /* eval runs in Python, whatever the kernel has */
    ML_NODE_VIEW = 2, /* output 0 holds input 0's bytes unchanged */
    ML_NODE_FUSED = 8, /* the graph's: another node does its work */
    /* The graph's: output 0 is a variable's own bytes; eval sees whether its shape has changed. */
    ML_NODE_BORROWS = 16,
    ML_NODE_TFLITE_SHARES = 4, /* TFLite's planner shares in place for this operator */
    ML_NODE_IN_PLACE = 256 /* << i: output 0 may overwrite input i, i < 8 */
} ml_node_flag;

typedef struct ml_node_def {
    const ml_kernel *kernel;
    /* Row of the kernel's table, from ml_kernel_match; -1: the numpy reference runs. */
    int32_t typed;
    int32_t flags; /* ml_node_flag */
    int32_t index; /* the file's node number */
    int32_t handler; /* the caller's number for the node, passed to the hooks */
    /* In ml_graph_def.io: its inputs (-1 = absent), its outputs, the subgraphs it calls. */
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

/* Tensors and nodes of all subgraphs, one subgraph after the other. Everything but the tensors'
 * data is copied. */
typedef struct ml_graph_def {
    const ml_subgraph_def *subgraphs;
    const ml_tensor_def *tensors;
    const ml_node_def *nodes;
    const struct ml_simd *simd; /* the level of its inner loops */
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
    int32_t fuses; /* nodes may become part of others, which hides the tensors between them */
} ml_graph_def;

/* Where lowering finds a parameter's value: the words of kernel.h, ML_OPTION and its like. */
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
    int32_t has_preset; /* `constant` stands for an option that is missing */
    const char *option; /* NULL: of the field's own name */
    double constant;
    double least; /* of ML_FIELD_COUNT; both inclusive */
    double most;
} ml_field;

typedef struct ml_array {
    const void *data;
    int64_t bytes;
} ml_array;

/* What Python has to know of a kernel. */
typedef struct ml_kernel_info {
    const char *name;
    const ml_field *fields;
    int32_t n_fields;
    int32_t params_bytes;
    int32_t flags;
    /* As in ml_kernel. */
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
} ml_kernel_info;

/* The kernel of that name, NULL if there is none; kernel number `index` of those built in, NULL
 * after the last. */
const ml_kernel *ml_kernel_find(const char *name);
const ml_kernel *ml_kernel_at(int32_t index);
/* The family of a kernel that is built in: its file's stem in csrc/kernels or csrc/control. */
const char *ml_kernel_family(const ml_kernel *kernel);
/* The row of an operator, in the highest first version up to `version` if there are several; NULL
 * if none runs it. */
const ml_kernel *ml_kernel_of(const char *op, int64_t bytes, int32_t custom, int32_t version);
/* ML_GRAPH_ERROR for a row that was compiled against another kernel.h, or that is not whole. */
ml_status ml_kernel_describe(const ml_kernel *kernel, ml_kernel_info *info, ml_error *error);
/* The first row of the kernel's table that takes these operand types (-1 = absent), outputs after
 * inputs; -1 if none does. */
int32_t ml_kernel_match(const ml_kernel *kernel, const int32_t *types, int32_t n_inputs,
                        int32_t n_outputs);
/* The operand types of row `index` of the kernel's table, NULL past the last; *has_eval: it runs in
 * C. */
const char *ml_kernel_types(const ml_kernel *kernel, int32_t index, int32_t *has_eval);

/* Where nodes are refused for their quantization, each has an error, up to `n_errors` (>= 1) of
 * them; those after are ML_OK. */
ml_status ml_graph_new(const ml_graph_def *def, ml_graph **graph, ml_error *errors,
                       int32_t n_errors);
/* States and plans hold their graph: it goes with the last of them. */
void ml_graph_free(ml_graph *graph);
