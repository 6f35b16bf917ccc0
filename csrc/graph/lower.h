/* lower.h -- shared by the parts of lowering: the lowering itself, and what it caches for each
 * operator code of the file. */
#ifndef ML_GRAPH_LOWER_H
#define ML_GRAPH_LOWER_H

#include <stdbool.h>

#include "core/error.h"
#include "format/flexbuffer.h"
#include "kernel.h"

enum { ML_MOST_FIELDS = 32, ML_MOST_PARAMS = 512, ML_MATCHED_OPERANDS = 8 };

/* An operator code: its row, and everything that is the same for all its nodes. */
typedef struct ml_code {
    const ml_kernel *kernel; /* NULL: there is no row */
    bool callers;
    /* by field of the kernel: the slot of its option in the schema; -1 = none */
    int8_t slots[ML_MOST_FIELDS];
    /* Types of the node that was matched last, and the result: consecutive nodes are often
     * alike. */
    int32_t types[ML_MATCHED_OPERANDS];
    int32_t n_inputs;
    int32_t n_outputs; /* both 0: no node was matched yet */
    int32_t typed;
} ml_code;

/* A block that is freed with the lowering. */
typedef struct kept {
    struct kept *next;
    void *data;
} kept;

/* A resource of the model: a variable or a table. */
typedef struct ml_resource_name {
    const char *kind;
    ml_node_option names[2];
} ml_resource_name;

typedef struct lowering {
    ml_lowering shown;
    ml_code *codes;
    ml_quantization *quantizations;
    ml_subgraph_def *subgraphs;
    ml_node_def *nodes;
    int32_t *io;
    uint8_t *params;
    ml_error *refused;
    ml_resource_name *resources;
    kept *kept;
    ml_tensor_def *tensors; /* tensors of the current subgraph */
    ml_tensor *operands; /* the current node's operands, as `check` sees them */
    int32_t *slots; /* of `operands`, from -1 on */
    int64_t io_room;
    int64_t params_room;
    int64_t refused_room;
    int64_t resource_room;
    /* number of the current subgraph's first tensor, counted over all subgraphs */
    int64_t first_tensor;
    int64_t n_nodes; /* nodes lowered so far */
    ml_flex_map flex; /* options of the current custom node; data is NULL until they are opened */
    int32_t seeds; /* number of seeds drawn so far */
    int32_t number; /* number of the current node, counted over all subgraphs */
    bool reference;
    _Alignas(16) uint8_t node_params[ML_MOST_PARAMS];
} lowering;

/* options.c. Zeroed memory for data that parameters and constants point to; NULL with an error. */
void *ml_lowering_keep(lowering *l, int64_t bytes, ml_error *error);
/* Finds the row of an operator code, and the slots of its options. */
void ml_open_code(ml_code *code, const ml_file *file, const ml_operator_row *row, bool callers);
/* The entry of the kernel's table that matches the node's operands; -1 if there is none. */
int32_t ml_match_node(const lowering *l, ml_code *code, const ml_node_row *row);
/* Checks quantization, reads options and runs `check` for the current node: fills node_params and
 * lists the subgraphs that it calls (valid until the next node). ML_UNSUPPORTED when the node is
 * refused. */
ml_status ml_read_options(lowering *l, ml_code *code, const ml_node_row *row, ml_error *error,
                          const int32_t **subgraphs, int32_t *n_subgraphs);
/* Whether operands of these types (-1 = absent) match a signature, as described in kernel.h. */
bool ml_types_match(const char *signature, const int32_t *types, int32_t n_inputs,
                    int32_t n_outputs);

#endif
