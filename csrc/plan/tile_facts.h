/* tile_facts.h -- facts of a plan that the search for tiles needs: what is live at each node, and
 * which nodes make and last read each tensor. */
#ifndef ML_PLAN_TILE_FACTS_H
#define ML_PLAN_TILE_FACTS_H

#include "plan/plan.h"

/* Tables of the main frame, in one block. Parts of fused nodes are no readers: they never run. */
typedef struct ml_tile_facts {
    const ml_plan *plan;
    const ml_subgraph *sub;
    const ml_node_plan *nodes;
    const uint8_t *whole; /* by node: 1 = it may not run patch by patch; NULL: none */
    int32_t n_nodes;
    int64_t *live; /* by node: bytes of all records that are live there */
    int64_t *scratch; /* by node: bytes of its scratch in the arena */
    /* Bytes of the records that were made before a node, and are read by it or later. */
    int64_t *across;
    double *work; /* by node: multiply-adds; of other operators one per element of the output */
    int32_t *made; /* by tensor: the node that computes it, -1 = an input of the graph */
    int32_t *last; /* by tensor: the last node that reads it; ML_FOREVER = kept to the end */
    int64_t most_live;
    double all_work;
} ml_tile_facts;

/* The first and the last node of each tensor alone: all that a known group needs. */
ml_status ml_tile_lives_find(const ml_plan *plan, ml_tile_facts *facts, ml_error *error);
ml_status ml_tile_facts_find(const ml_plan *plan, ml_tile_facts *facts, ml_error *error);
void ml_tile_facts_free(ml_tile_facts *facts);

static inline const ml_tensor *ml_tile_tensor(const ml_tile_facts *f, int32_t tensor) {
    return ml_row_of(f->plan->graph, &f->plan->rows, 0, tensor);
}
/* True if there is nothing to run: the node is a part of another, or was folded. */
static inline bool ml_tile_skips(const ml_tile_facts *f, int32_t node) {
    return f->nodes[node].status == ML_NODE_FOLDED || f->nodes[node].status == ML_NODE_IS_FUSED;
}
/* Multiply-adds of a node with these shapes; without products, elements of the output. */
double ml_tile_work(const ml_node *node, const ml_operand_shapes *of);

#endif
