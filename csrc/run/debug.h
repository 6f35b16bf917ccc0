/* debug.h -- checks that debug builds (ML_DEBUG) make around each node; other builds make none. */
#ifndef ML_RUN_DEBUG_H
#define ML_RUN_DEBUG_H

#include "state/state.h"

/* Bytes after an output, or after the scratch (-1), of the node that is about to run. */
typedef struct ml_guard {
    uint8_t *at;
    int64_t bytes;
    int32_t output;
} ml_guard;

enum { ML_GUARDS = 32 };

typedef struct ml_guards {
    ml_guard all[ML_GUARDS];
    int32_t count;
} ml_guards;

#ifdef ML_DEBUG
void ml_debug_guard(const ml_residence *residence, int32_t frame, const ml_step *step,
                    ml_guards *guards);
/* ML_KERNEL_ERROR when a guarded byte has changed. */
ml_status ml_debug_check(const ml_residence *residence, int32_t frame, const ml_step *step,
                         const ml_guards *guards, ml_error *error);
/* Overwrites the tensors of the frame that nobody reads after the node at this position. */
void ml_debug_poison(const ml_residence *residence, int32_t frame, int32_t node);
#endif

#endif
