/* load_file.h -- the verified rows of a .tflite file.
 *
 * ml_file_new follows every offset of the file once, checks it, and writes one row per tensor,
 * node, subgraph, operator code, buffer, signature and metadata entry. Readers of rows need not
 * check anything: vectors lie within the file, tensor numbers within their subgraph, codes within
 * their enums, constants have as many bytes as type and shape require.
 *
 * Values that checks depend on (tensor numbers, shapes), and values that control execution
 * (options, integer constants of up to ML_CONTROL_BYTES), are copied: if the file changes while it
 * is mapped, the checks still hold. Bulk data (constants, names, custom options, vectors within
 * options) stays in the file's bytes, which must outlive the rows. Positions are bytes from the
 * start of the file, counts are elements.
 *
 * Time and memory: n bytes of file make at most n/4 + 4096 rows, which, together with everything
 * copied, take at most 16 n bytes and 1 MiB. A file whose parts are shared, so that it would need
 * more, is refused. Real files take a tenth of n bytes, and 0.1 us per row.
 */

#define ML_CONTROL_BYTES 4096

/* Bytes of the file: text (should be UTF-8, not checked) or custom options. */
typedef struct ml_span {
    int64_t at;
    int64_t bytes;
} ml_span;

/* The value in a slot of a table; which member holds it depends on the slot's form in the schema.
 * Scalars and enums: `integer` (unsigned 64-bit values by their bits), or `real` if floating.
 * Offsets: `at`, the position of the table or of the vector's first element, 0 if absent; and
 * `count`, the number of elements of the vector. Absent scalars have their default. Slots are
 * numbered by ML_SLOT_<table>_<field> of format/schema_tables.h. */
typedef struct ml_slot_value {
    union {
        int64_t integer;
        double real;
        int64_t at;
    };
    int64_t count;
} ml_slot_value;

typedef struct ml_operator_row {
    int32_t op; /* BuiltinOperator; if CUSTOM, `name` is set */
    int32_t version;
    int32_t table; /* of its options; -1 = none */
    int32_t custom; /* 1 for CUSTOM */
    ml_span name; /* of a custom operator */
} ml_operator_row;

typedef enum { ML_ROW_VARIABLE = 1, ML_ROW_HAS_RANK = 2, ML_ROW_BLOCKWISE = 4 } ml_tensor_row_flag;

typedef struct ml_tensor_row {
    const void *data; /* a constant's values, aligned to its elements; NULL: computed. Raw bytes if
                       * sparse, packed or text */
    int64_t bytes; /* of data */
    int64_t data_at; /* where data lies in the file; -1 when it is a copy */
    ml_span name;
    const int32_t *shape;
    const int32_t *signature; /* the shape, with -1 for unknown dimensions */
    ml_quantization quantization; /* one zero point if all are equal; of blockwise schemes only
                                   * dimension and block size, because the rest is in tensors */
    int64_t sparsity_at; /* position of its SparsityParameters table; 0 = dense */
    int32_t type; /* ml_type */
    int32_t rank;
    int32_t signature_rank; /* -1 = the file gives no signature */
    int32_t scales_tensor; /* tensor with the scales of a blockwise scheme; -1 = none */
    int32_t zero_points_tensor;
    int32_t buffer; /* number of the buffer; 0 = none */
    int32_t flags; /* ml_tensor_row_flag */
    int32_t reserved;
} ml_tensor_row;

typedef struct ml_node_row {
    const int32_t *inputs; /* tensor numbers; -1 = absent */
    const int32_t *outputs;
    const int32_t *intermediates;
    const ml_slot_value *options; /* by slot of the options table; NULL = no options */
    ml_span custom_options;
    int32_t code; /* number of its ml_operator_row */
    int32_t op; /* copied from that row */
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
    int64_t tensor; /* as it is in the file */
} ml_argument_row;

typedef struct ml_signature_row {
    const ml_argument_row *inputs;
    const ml_argument_row *outputs;
    ml_span key;
    int32_t n_inputs;
    int32_t n_outputs;
    int64_t subgraph; /* as it is in the file: a signature that nobody asks for is not checked */
} ml_signature_row;

typedef struct ml_metadata_row {
    ml_span name;
    ml_span data;
} ml_metadata_row;

typedef struct ml_buffer_row {
    ml_span data; /* at == 0: no data */
    const void *copy; /* copy of its first `copied` bytes, if tensors need one */
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

/* The reason why a file is refused, and its place in the file. */
typedef struct ml_file_error {
    int64_t reach; /* if the file ends too early: the end that its tables require; else 0 */
    int32_t subgraph; /* -1 = not in a subgraph */
    int32_t tensor;
    int32_t node;
    int32_t reserved;
    char op[104]; /* the node's operator, as named in the file */
    char text[504];
} ml_file_error;

/* Verifies a file and makes its rows: ML_OK, ML_GRAPH_ERROR if the file is not valid,
 * ML_ARENA_ERROR if memory is short. `data` may lie anywhere, at any alignment. */
ml_status ml_file_new(const void *data, int64_t bytes, ml_file **file, ml_file_error *error);
void ml_file_free(ml_file *file);
/* True if the file has metadata of that name. */
int32_t ml_file_has_metadata(const ml_file *file, const char *name);
/* Reads and checks one table of the file; gives one value per slot. Targets of offsets lie within
 * the file, and nothing more is checked: each table is read by a call of its own. */
ml_status ml_file_read_table(const void *data, int64_t bytes, int32_t table, int64_t at,
                             ml_slot_value *values, ml_file_error *error);
/* A file that is mapped for reading; data is NULL while none is. */
typedef struct ml_mapping {
    void *data;
    int64_t bytes;
} ml_mapping;
/* Maps a file, until ml_os_unmap_file; the descriptor may be closed at once. 0 if the file cannot
 * be mapped. Each system defines them (os/os.h). */
int32_t ml_os_map_file(ml_mapping *mapping, int32_t descriptor, int64_t bytes);
/* Has no effect where no file is mapped. */
void ml_os_unmap_file(ml_mapping *mapping);
