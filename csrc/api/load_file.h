/* load_file.h -- the rows of a .tflite file, as the verifier leaves them: cffi's cdef and the C header in one.
 *
 * ml_file_new follows every offset of the file once, checks it, and writes one row a tensor, node, subgraph, operator code,
 * buffer, signature and metadata entry. Whoever reads rows need check nothing: vectors lie within the file, tensor numbers within
 * their subgraph, codes within their enums, constants have the bytes that type and shape ask for.
 *
 * What a check depends on (tensor numbers, shapes) and what steers control (integer constants of up to ML_CONTROL_BYTES) is
 * copied, so that a file that changes under its mapping cannot undo the check. Bulk data (constants, names, custom options) stays
 * in the file's bytes, which must outlive the rows. Positions are bytes from the start of the file, counts are elements.
 *
 * Time and memory: n bytes of file make at most n/4 + 4096 rows, and copy at most 4 n + 65536 bytes; a file whose parts are shared
 * so that they unfold to more is refused. Rows and copies together take less than 36 n bytes and 640 KiB, usually 0.1 n.
 */

#define ML_CONTROL_BYTES 4096

/* Bytes of the file: text (UTF-8 unless the file lies), custom options. */
typedef struct ml_span {
    int64_t at;
    int64_t bytes;
} ml_span;

/* What a slot of a table holds, by the slot's form in the schema: a scalar or an enum as `integer` (unsigned 64-bit ones by
 * their bits) or, if floating, as `real`; what lies behind an offset as `at`, the position of a table or of a vector's first
 * element, 0 when absent, and `count`, elements of the vector. Absent scalars hold their defaults. */
typedef struct ml_slot_value {
    union {
        int64_t integer;
        double real;
        int64_t at;
    };
    int64_t count;
} ml_slot_value;

typedef struct ml_operator_row {
    int32_t op; /* BuiltinOperator; CUSTOM has a name */
    int32_t version;
    int32_t table; /* of its options; -1 = none */
    int32_t custom; /* 1 for CUSTOM */
    ml_span name; /* of a custom operator */
} ml_operator_row;

typedef enum { ML_ROW_VARIABLE = 1, ML_ROW_HAS_RANK = 2, ML_ROW_BLOCKWISE = 4 } ml_tensor_row_flag;

typedef struct ml_tensor_row {
    const void *
        data; /* a constant's values, aligned to its elements; NULL: computed. Raw bytes if sparse, packed, or text */
    int64_t bytes; /* of data */
    int64_t data_at; /* where data lies in the file; -1 when it is a copy */
    ml_span name;
    const int32_t *shape;
    const int32_t *signature; /* the shape with -1 for what is unknown */
    const float *scales; /* one, or one a slice along quantized_dimension */
    const int32_t *zero_points; /* as many as scales */
    int64_t sparsity_at; /* a SparsityParameters table; 0 = dense */
    int32_t type; /* ml_type */
    int32_t rank;
    int32_t signature_rank; /* -1 = the file gives no signature */
    int32_t n_scales; /* 0 = not quantized, or blockwise */
    int32_t quantized_dimension;
    int32_t block_size; /* of blockwise schemes, whose scales and zero points are tensors */
    int32_t scales_tensor; /* -1 = none */
    int32_t zero_points_tensor;
    int32_t buffer; /* number of the buffer; 0 = none */
    int32_t flags; /* ml_tensor_row_flag */
} ml_tensor_row;

typedef struct ml_node_row {
    const int32_t *inputs; /* tensor numbers; -1 = absent */
    const int32_t *outputs;
    const int32_t *intermediates;
    const ml_slot_value *options; /* by slot of the options table; NULL for operators without */
    ml_span custom_options;
    int32_t code; /* number of its ml_operator_row */
    int32_t op; /* as there */
    int32_t version;
    int32_t n_inputs;
    int32_t n_outputs;
    int32_t n_intermediates;
    int32_t options_table; /* number of the options table in the schema; -1 = none */
    int32_t n_options;
} ml_node_row;

typedef struct ml_subgraph_row {
    const ml_tensor_row *tensors;
    const ml_node_row *nodes; /* in execution order */
    const int32_t *inputs;
    const int32_t *outputs;
    ml_span name;
    int32_t n_tensors;
    int32_t n_nodes;
    int32_t n_inputs;
    int32_t n_outputs;
} ml_subgraph_row;

typedef struct ml_argument_row {
    ml_span name;
    int64_t tensor;
} ml_argument_row;

typedef struct ml_signature_row {
    const ml_argument_row *inputs;
    const ml_argument_row *outputs;
    ml_span key;
    int32_t n_inputs;
    int32_t n_outputs;
    int32_t subgraph;
    int32_t reserved;
} ml_signature_row;

typedef struct ml_metadata_row {
    ml_span name;
    ml_span data;
} ml_metadata_row;

typedef struct ml_buffer_row {
    ml_span data; /* at 0: there is none */
    const void *copy; /* its first `copied` bytes, where tensors need them copied */
    int64_t copied;
} ml_buffer_row;

typedef struct ml_file {
    const uint8_t *data;
    int64_t bytes;
    const ml_operator_row *operators;
    const ml_buffer_row *buffers;
    const ml_subgraph_row *subgraphs;
    const ml_signature_row *signatures;
    const ml_metadata_row *metadata;
    ml_span description;
    int32_t n_operators;
    int32_t n_buffers;
    int32_t n_subgraphs;
    int32_t n_signatures;
    int32_t n_metadata;
    int32_t version;
    void *blocks; /* the memory of the rows */
} ml_file;

/* Why a file is refused, and where. */
typedef struct ml_file_error {
    int64_t
        reach; /* the byte up to which the tables say the file goes, if it ends before that; else 0 */
    int32_t subgraph; /* -1 = none is to blame */
    int32_t tensor;
    int32_t node;
    int32_t reserved;
    char op[104]; /* the node's operator as the file spells it */
    char text[504];
} ml_file_error;

/* Verifies a file and makes its rows: ML_OK, ML_GRAPH_ERROR for what is no valid file, ML_ARENA_ERROR when memory is short. */
ml_status ml_file_new(const void *data, int64_t bytes, ml_file **file, ml_file_error *error);
void ml_file_free(ml_file *file);
/* Reads one table of the file, checking all it says: a value a slot. What lies behind offsets is within the file, and that is
 * all that is known of it: tables there are read by calls of their own. */
ml_status ml_file_read_table(const void *data, int64_t bytes, int32_t table, int64_t at,
                             ml_slot_value *values, ml_file_error *error);
/* Maps a file of `bytes` bytes for reading, which needs no descriptor any longer; NULL and errno when that fails. */
void *ml_file_map(int32_t descriptor, int64_t bytes);
void ml_file_unmap(void *data, int64_t bytes);
