/* grow.h -- gives one record of a frame a new place during a run. */
#ifndef ML_RUN_GROW_H
#define ML_RUN_GROW_H

#include "state/state.h"

/* Finds a place that overlaps nothing there that is live at the same time. `id` is a tensor, or
 * n_tensors plus a node's position for its scratch; *offset is its place, before and after. */
ml_status ml_grow(ml_state *state, ml_residence *residence, int32_t frame, int32_t id,
                  int64_t bytes, int64_t *offset);

#endif
