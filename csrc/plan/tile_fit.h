/* tile_fit.h -- makes plans whose arenas fit a limit. */
#ifndef ML_PLAN_TILE_FIT_H
#define ML_PLAN_TILE_FIT_H

#include "plan/plan.h"

/* Makes a plan. If its arena has more than `most_arena` bytes, parts of it run patch by patch until
 * it has no more; ML_ARENA_ERROR if that is not enough. */
ml_status ml_plan_make(const ml_plan_request *request, ml_plan **plan, ml_error *error);

#endif
