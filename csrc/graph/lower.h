/* lower.h -- structs that the parts of lowering share: the lowering itself, and its memory of each
 * operator code of the file. */
#ifndef ML_GRAPH_LOWER_H
#define ML_GRAPH_LOWER_H

#include <stdbool.h>

#include "core/error.h"
#include "format/flexbuffer.h"
#include "kernel.h"

enum { ML_MOST_FIELDS = 32, ML_MOST_PARAMS = 512, ML_MATCHED_OPERANDS = 8 };

/* An operator code: its row, and what holds for all its nodes. */
typedef struct ml_code {
    const ml_kernel *kernel; /* NULL: there is no row */
    bool callers;
    int8_t slots[ML_MOST_FIELDS]; /* by field of the kernel: the slot of its option; -1 = none */
    /* Types of the node that was matched last, and the answer: nodes alike follow each other. */
    int32_t types[ML_MATCHED_OPERANDS];
    int32_t n_inputs;
    int32_t n_outputs; /* 0 inputs and outputs: nothing is remembered */
    int32_t typed;
} ml_code;

/* Memory that goes with the lowering. */
typedef struct kept {
    struct kept *next;
    void *data;
} kept;

/* A resource of the model: a variable or a table. */
typedef struct ml_resource_name {
    const char *op;
    ml_node_option names[2];
} ml_resource_name;

typedef struct lowering {
    ml_lowering shown;
    ml_store *store;
    const struct ml_simd *simd;
    ml_code *codes;
    ml_quantization *quantizations;
    ml_subgraph_def *subgraphs;
    ml_node_def *nodes;
    int32_t *io;
    uint8_t *params;
    ml_error *refused;
    ml_resource_name *resources;
    kept *kept;
    ml_tensor_def *tensors; /* of the subgraph that is lowered */
    ml_tensor *operands; /* as check sees tensors: rows of the node's own are filled */
    int32_t *slots; /* of `operands`, from -1 on */
    int64_t io_room;
    int64_t params_room;
    int64_t refused_room;
    int64_t resource_room;
    int64_t first_tensor; /* of the subgraph, all tensors counted through */
    int64_t n_nodes; /* lowered so far */
    ml_flex_map flex; /* the options of the custom node that is lowered; data is NULL: not opened */
    int32_t seeds; /* drawn so far */
    int32_t number; /* of the node that is lowered, all nodes counted through */
    bool reference;
    bool composite; /* the node's options are its attributes as a composite */
    _Alignas(16) uint8_t node_params[ML_MOST_PARAMS];
} lowering;

/* options.c. Zeroed memory for what parameters and constants point to; NULL with an error. */
void *ml_lowering_keep(lowering *l, int64_t bytes, ml_error *error);
/* densify.c. Makes `y` the dense form of the sparse constant `x`, whose SparsityParameters lie at
 * that position, unless they do not fit its shape, or it takes too much. */
ml_status ml_lowering_densify(lowering *l, int64_t sparsity_at, const ml_tensor_def *x,
                              ml_tensor_def *y, bool *done, ml_error *error);
/* dequantize.c. Makes `y` the floats of the integer constant `x`, unless it is of a rare kind. */
ml_status ml_lowering_dequantize(lowering *l, const ml_tensor_def *x, ml_tensor_def *y, bool *done,
                                 ml_error *error);
/* options.c. Finds the code's row, and the slots of its options. */
void ml_open_code(ml_code *code, const ml_file *file, const ml_operator_row *row, bool callers);
enum { ML_MATCH_NO_MEMORY = -2 };
/* The row of the kernel's table that takes the node's operands; -1 if none does, or
 * ML_MATCH_NO_MEMORY. */
int32_t ml_match_node(const lowering *l, ml_code *code, const ml_node_row *row);
/* Reads quantization and options of the node that is lowered, and checks it: fills node_params and
 * says which subgraphs it calls (valid until the next node). ML_UNSUPPORTED when the node is
 * refused. */
ml_status ml_read_options(lowering *l, ml_code *code, const ml_node_row *row, ml_error *error,
                          const int32_t **subgraphs, int32_t *n_subgraphs);
/* The kernel that the name of a composite node says; NULL if there is none. */
const ml_kernel *ml_composite_kernel(const lowering *l, const ml_node_row *row);
/* True if the kernel has a field for each of the options that were read last. */
bool ml_knows_all_options(const lowering *l, const ml_kernel *kernel);
/* True if operands of these types (-1 = absent) are as a signature spells them, as in kernel.h. */
bool ml_types_match(const char *signature, const int32_t *types, int32_t n_inputs,
                    int32_t n_outputs);

#endif
