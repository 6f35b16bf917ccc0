/* fold.h -- values that are known while planning, and the memory that holds them. */
#ifndef ML_PLAN_FOLD_H
#define ML_PLAN_FOLD_H

#include "graph/engine.h"

/* A chunk of the pool that holds a plan's folded values. */
typedef struct ml_folded {
    struct ml_folded *next;
    int64_t used;
    uint8_t bytes[];
} ml_folded;

/* Computes the node now if all its inputs are known; *folded says whether it did. */
ml_status ml_fold(ml_engine *engine, const ml_call *call, const ml_wish *wish, int32_t frame,
                  bool *folded);

#endif
