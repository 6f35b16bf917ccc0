/* lower.h -- what the two halves of lowering share: the tensors of a subgraph, and kinds being
 * gathered. */
#ifndef ML_GRAPH_LOWER_H
#define ML_GRAPH_LOWER_H

#include <stdbool.h>

#include "core/error.h"

/* Kinds found so far, in a table of hashes. */
typedef struct ml_kinds {
    ml_kind *kinds;
    int32_t *table; /* numbers of kinds, -1 = free; a power of two */
    uint8_t *keys;
    int64_t key_bytes;
    int64_t key_room;
    int32_t n_kinds;
    int32_t kind_room;
    int32_t table_size;
} ml_kinds;

/* A subgraph while its nodes are sorted. */
typedef struct ml_sorted {
    const ml_file *file;
    const ml_subgraph_row *rows;
    const ml_tensor_def *tensors; /* types may differ from the rows': operators decide them */
    uint16_t *classes; /* by tensor; 0 = not looked at yet */
    uint8_t *folded; /* by tensor: 1 once a node folds into it */
    int32_t subgraph;
} ml_sorted;

enum { ML_ANSWER_NUMBERS = 8 };
/* Where in a class of quantization stand the zero point and the scale that arithmetic may build
 * in. */
enum { ML_CLASS_ZERO_AT = 6, ML_CLASS_BUILT_IN_AT = 8 };

/* An answer that C knows, and what it points to. */
typedef struct ml_known_answer {
    ml_answer answer;
    int32_t numbers[ML_ANSWER_NUMBERS];
    uint8_t params[]; /* the kernel's */
} ml_known_answer;

/* Whether operands of these types (-1 = absent) are as a signature spells them, as in kernel.h. */
bool ml_types_match(const char *signature, const int32_t *types, int32_t n_inputs,
                    int32_t n_outputs);
/* What checks ask of a tensor's quantization, as bits (kinds.c). */
uint16_t ml_class_of(const ml_tensor_row *row, int32_t type);
/* Whether checks of ratios cannot refuse the node. */
bool ml_is_tame(const ml_sorted *s, const ml_node_row *n);
/* What the nodes of an operator code hang on, as ml_trait. */
int32_t ml_traits_of(const ml_operator_row *code);
/* What a node that is not alone of its kind lowers to; *known stays NULL where Python has to say
 * it. */
ml_status ml_answer_kind(const ml_sorted *s, int32_t node, ml_known_answer **known,
                         ml_error *error);

/* The kind of a node, a new one if there is none like it; -1 without memory. */
int32_t ml_kind_of(ml_kinds *kinds, const ml_sorted *s, int32_t node, int32_t traits);

#endif
