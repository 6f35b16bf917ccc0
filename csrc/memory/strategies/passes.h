/* passes.h -- a pass over a problem, which places records one by one in some order; greedy
 * strategies share it. */
#ifndef ML_MEMORY_PASSES_H
#define ML_MEMORY_PASSES_H

#include "memory/conflicts.h"
#include "memory/strategies/grid.h"

/* Working memory of one problem, in one block. */
typedef struct ml_passes {
    const ml_problem *problem;
    /* Without both, all placed records are looked at. */
    const ml_conflicts *conflicts; /* or NULL */
    ml_grid *grid; /* or NULL */
    bool by_grid; /* it is made for the first pass */
    ml_moments moments; /* of many records */
    int64_t *size; /* by record, rounded */
    int64_t *key;
    int64_t *offset; /* in the last pass */
    int64_t *best; /* in the best pass */
    ml_placed *room;
    ml_placed *fixed;
    ml_stretch *spans; /* shares its memory with `room` */
    int32_t *order;
    int32_t *trial;
    int32_t waiting; /* records to be placed, as in `order` and `trial` */
    int32_t n_fixed;
    int64_t fixed_height;
    int64_t looks; /* at placed records, so far */
    bool short_of_memory; /* the last pass was; it has no plan */
} ml_passes;

/* More records than these go by a grid, and those with alignments of their own. */
enum { ML_MANY_RECORDS = 1000 };
static inline bool ml_goes_by_grid(const ml_problem *problem) {
    return problem->count > ML_MANY_RECORDS || problem->alignments;
}

/* False without memory. */
bool ml_passes_begin(ml_passes *passes, const ml_problem *problem);
/* Fills `bytes`, by record, with those live at its busiest node. False without memory. */
bool ml_passes_busiest(ml_passes *passes, int64_t *bytes);
/* Fills `order` with the records to be placed: the largest key first (of equal ones the largest
 * record, then by first node, then by number). False without memory. */
bool ml_passes_order(ml_passes *passes, const int64_t *key, int32_t *order);
/* Places the records in `order`; returns the height, or `limit` as soon as it is reached. */
int64_t ml_passes_place(ml_passes *passes, const int32_t *order, ml_fit fit, int64_t limit);
/* Repeatedly places the record that can lie lowest (of equal ones, the first in `order`) on top of
 * those placed; returns the height, or `limit` as soon as it is reached. Needs lists of
 * conflicts. */
int64_t ml_passes_rise(ml_passes *passes, const int32_t *order, int64_t limit);
/* Makes the last pass, in `order`, the best one. */
void ml_passes_keep(ml_passes *passes, const int32_t *order);
/* Copies the offsets of the best pass to the problem, unless a pass was short of memory; frees the
 * memory of the passes. */
ml_strategy_status ml_passes_end(ml_passes *passes, ml_problem *problem, int64_t height,
                                 int64_t searched);

#endif
