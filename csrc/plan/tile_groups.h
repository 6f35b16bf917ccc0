/* tile_groups.h -- makes the tile groups of a plan. */
#ifndef ML_PLAN_TILE_GROUPS_H
#define ML_PLAN_TILE_GROUPS_H

#include "plan/plan.h"
#include "plan/tiled.h"

/* Makes the groups for a plan that has been placed. *tiled stays NULL if one of them cannot run
 * patch by patch at these shapes. */
ml_status ml_tiled_new(ml_plan *plan, const ml_tiling *tiling, ml_tiled **tiled, ml_error *error);

#endif
