/* layout.h -- gives usage records their offsets, memory by memory: all at once, or in steps. During
 * runs late.h does so, one by one. */
#ifndef ML_PLAN_LAYOUT_H
#define ML_PLAN_LAYOUT_H

#include "plan/records.h"

/* Forgets all places; ml_layout_reset keeps those of variables. */
void ml_layout_start_anew(ml_planner *planner);
void ml_layout_reset(ml_planner *planner);
/* Places what nodes first .. last allocate. The schedule is found; `first` is at most, and `last`
 * below, the number of nodes. */
ml_status ml_layout_nodes(ml_planner *planner, int32_t first, int32_t last, ml_error *error);
/* Places variables alone, from the beginning of their memory. */
ml_status ml_layout_variables(ml_planner *planner, ml_error *error);
/* Drops the records of tensors whose last reader comes before `node`. */
void ml_layout_purge(ml_planner *planner, int32_t node);
/* The lower bound of the arena; -1 without memory. */
int64_t ml_layout_bound(ml_planner *planner);

#endif
