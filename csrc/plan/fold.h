/* fold.h -- values that are known while planning, the memory that holds them, and nodes that have
 * nothing to compute. */
#ifndef ML_PLAN_FOLD_H
#define ML_PLAN_FOLD_H

#include "graph/engine.h"

/* A chunk of the pool that holds a plan's folded values. */
typedef struct ml_folded {
    struct ml_folded *next;
    int64_t used;
    uint8_t bytes[];
} ml_folded;

/* True if the node, which is prepared, has nothing to compute: its outputs have no elements, and it
 * neither changes anything else nor refuses values. Eval is not called then: shapes without
 * elements may have 2^60 pixels or rows, over which a kernel would loop for years. */
bool ml_writes_nothing(const ml_node *node, const ml_call *call);
/* Computes the node now if all its inputs are known; *folded says whether it did. */
ml_status ml_fold(ml_engine *engine, const ml_call *call, const ml_wish *wish, int32_t frame,
                  bool *folded);

#endif
