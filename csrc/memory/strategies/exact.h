/* exact.h -- the parts of the exact planner: one independent piece of a problem, and the search in
 * it. */
#ifndef ML_MEMORY_EXACT_H
#define ML_MEMORY_EXACT_H

#include "memory/problem.h"

/* Time, cut down to what matters: a section is a set of records live at once that no other such set
 * contains. Records are live in consecutive sections [low, high]. Sections and records of one piece
 * touch no others. */
typedef struct ml_block {
    int64_t size; /* rounded */
    int32_t low, high;
    int32_t record; /* its index in the problem */
    int32_t sections; /* in the first block of a piece: how many the piece has; else 0 */
    int32_t minor; /* position in the minor order of a preorder */
    int32_t reserved;
    int64_t span; /* nodes it is live at */
    int64_t crowd; /* the most bytes live in one of its sections */
} ml_block;

typedef struct ml_budget {
    int64_t nodes; /* visited so far */
    int64_t max_nodes; /* 0 = no limit */
    int64_t slice; /* nodes for each order of candidates, to begin with; 0 = as many as are usual */
    double end; /* CPU seconds at which to stop; 0 = never */
} ml_budget;

typedef enum {
    ML_SEARCH_FOUND,
    ML_SEARCH_NONE,
    ML_SEARCH_OUT_OF_BUDGET,
    ML_SEARCH_NO_MEMORY
} ml_search_status;

/* Offsets for all blocks (by their records' indices) so that none ends beyond `capacity`; NONE is a
 * proof. */
ml_search_status ml_search_piece(const ml_block *blocks, int32_t count, int64_t capacity,
                                 ml_budget *budget, int64_t *offsets);

/* A problem under search. */
typedef struct ml_exact {
    ml_problem *problem;
    ml_block *blocks; /* by first node */
    int64_t *offsets; /* by record: of the search */
    int64_t *best; /* by record: of the best plan so far */
    int64_t top, low; /* what that plan takes, and the least that is not proved to be too little */
    ml_budget budget;
    int32_t count;
} ml_exact;

/* Cuts e->problem into pieces; without memory false. The caller frees e->blocks. */
bool ml_exact_open(ml_exact *e);
/* Is there a plan within `capacity`? Every piece must have one. */
ml_search_status ml_exact_decide(ml_exact *e, int64_t capacity);
/* Copies the offsets that were found, by record, and returns where they end; records stay
 * unplaced. */
int64_t ml_exact_take(const ml_exact *e, int64_t *best);

/* Whether a search of at most `max_nodes` (> 0) finds a plan within `capacity`: offsets by record.
 * Notes the search nodes that it visited. Takes no fixed records; without memory it finds
 * nothing. */
bool ml_exact_dive(const ml_problem *problem, int64_t capacity, int64_t max_nodes, int64_t *offsets,
                   int64_t *visited);

/* CPU seconds of this process. */
double ml_cpu_seconds(void);

#endif
