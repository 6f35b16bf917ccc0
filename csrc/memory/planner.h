/* planner.h -- the tables of the planner, shared by its files only: planner.c, lifetimes.c,
 * listing.c. */
#ifndef ML_MEMORY_PLANNER_H
#define ML_MEMORY_PLANNER_H

#include "core/error.h"
#include "memory/conflicts.h"

/* The records of the last plan of the whole graph. The lists are valid as long as the next plan has
 * the same records with the same lifetimes. */
typedef struct ml_listing {
    int32_t *tensors; /* by record */
    /* Records by ascending last node; made, like conflicts, when a second plan has the same
     * records. */
    int32_t *by_last;
    int32_t *record_of; /* by tensor; -1 = none */
    int64_t *sizes; /* by record, rounded; of the plan being made */
    int64_t *offsets;
    int32_t count;
    bool listed;
    bool used; /* there was a plan before */
    ml_conflicts conflicts;
} ml_listing;

/* An operand that output 0 of its node may overwrite, if it is as large. */
typedef struct ml_overwrite {
    int32_t input;
    int32_t output;
    bool any_size; /* else only if above 4 bytes, as in TFLite */
    bool equal; /* it was as large as the output when lifetimes were found */
} ml_overwrite;

struct ml_planner {
    const ml_planner_graph *graph;
    char strategy[32];
    bool searches; /* the strategy is the default one */
    int32_t options;
    int32_t alignment;
    int32_t count; /* tensors and temporaries */
    int32_t last_active; /* the node up to which memory was planned, -1 = none */
    int32_t purged; /* active has all placed tensors that are live at this node or later */
    ml_placing_order *order; /* borrowed, or NULL */
    int32_t n_active;
    int32_t n_fixed; /* tensors with an offset set by the caller */
    bool found; /* lifetimes are up to date */
    bool stood; /* and were taken over from an earlier plan */
    bool resized; /* sizes were set one by one since lifetimes were found */
    bool longer; /* set by ml_planner_search */
    int64_t spent; /* how much of the search budget is used */
    int64_t bound; /* lower bound; -1 = not known yet */
    ml_listing listing;
    int64_t high_water;
    int64_t persistent;
    int64_t *bytes;
    int64_t *offset;
    int64_t *fixed; /* offset set by the caller; -1 = none */
    int64_t *placed; /* bytes at the time of placing, 0 = not placed */
    int32_t *first; /* -1 = never allocated */
    int32_t *last;
    int32_t *uses; /* input slots that read it; + 1 if kept to the end */
    int32_t *root;
    int32_t *active; /* placed tensors that may be live at the node reached */
    int32_t *by_first; /* tensors grouped by the node that allocates them */
    int32_t *group; /* by_first[group[n] .. group[n + 1]) is node n's */
    ml_record *records;
    uint8_t *place;
    uint8_t *skipped;
    uint8_t *pinned;
    uint8_t *marked; /* to be dropped by resolve_deallocations */
    uint8_t *edge; /* 1 = graph input, 2 = graph output */
    ml_overwrite *overwrites;
    int32_t n_overwrites;
};

/* lifetimes.c: finds the first and last node of every tensor, which tensors share memory, and the
 * tensors that each node allocates. */
void ml_planner_find_lifetimes(ml_planner *planner);

/* Places a persistent tensor after the previous ones. */
ml_status ml_planner_place_persistent(ml_planner *planner, int32_t tensor, ml_error *error);

/* Drops the records of tensors whose last reader comes before `node`. */
void ml_planner_purge(ml_planner *planner, int32_t node);

/* steps.c, for planners whose sizes were set one by one: whether the tensors
 * by_first[from .. to) fit the places that they share; and what to do once they are placed. */
ml_status ml_planner_check_shares(const ml_planner *planner, int32_t from, int32_t to,
                                  ml_error *error);
void ml_planner_drop_left_behind(ml_planner *planner);

/* listing.c: stores the planner's first `count` records as those of the whole graph; true if they
 * are the same as before and lists are there. */
bool ml_planner_list(ml_planner *planner, int32_t count);
/* The lower bound of the stored records. */
int64_t ml_planner_listed_bound(const ml_planner *planner);

#endif
