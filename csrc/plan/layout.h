/* layout.h -- gives usage records their offsets, memory by memory: all at once, in steps, or one by
 * one during runs. */
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

/* The records of a frame that runs have placed one by one, after everything that was planned. Live
 * ones come first, by offset: only [0, live) may still overlap a new record. The others were dead
 * before the current node. Runs go through a frame in order, so only few records are looked at.
 * When a frame is run again, all are live again, because places are kept from run to run. */
typedef struct ml_late_records {
    ml_record *records; /* `tensor`: a tensor, or n_tensors + n for scratch; sizes are rounded */
    int32_t count;
    int32_t live; /* -1: the frame is run again */
    int32_t room;
    int64_t planned; /* bytes of the region that were planned */
} ml_late_records;

/* True if the place at `offset` still belongs to the tensor: another may have grown into it. */
static inline bool ml_late_has(const ml_late_records *late, int32_t tensor, int64_t offset) {
    if (offset < late->planned) return true;
    for (int32_t i = 0; i < late->count; i++)
        if (late->records[i].tensor == tensor && late->records[i].offset == offset) return true;
    return false;
}
/* The lowest offset at which the record overlaps no other one that is live with it. */
int64_t ml_late_find(ml_late_records *late, const ml_record *record);
/* Makes room for one more record in the list. */
ml_status ml_late_reserve(ml_late_records *late, ml_error *error);
/* Adds the record, for which there is room; its tensor gives up the place that it had at
 * `before`. */
void ml_late_add(ml_late_records *late, ml_record record, int64_t before);

#endif
