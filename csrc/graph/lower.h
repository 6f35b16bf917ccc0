/* lower.h -- what the two halves of lowering share: the tensors of a subgraph, and kinds being gathered. */
#ifndef ML_GRAPH_LOWER_H
#define ML_GRAPH_LOWER_H

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

/* The kind of a node, a new one if there is none like it; -1 without memory. */
int32_t ml_kind_of(ml_kinds *kinds, const ml_sorted *s, int32_t node, int32_t traits);

#endif
