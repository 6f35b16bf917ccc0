/* exact.h -- the parts of the exact planner: one independent piece of a problem, and the search in
 * it. */
#ifndef ML_MEMORY_EXACT_H
#define ML_MEMORY_EXACT_H

#include "memory/problem.h"

/* Time, reduced to sections: a section is a maximal set of records that are live at once. Each
 * record is live in consecutive sections [low, high]. Pieces share no sections and no records. */
typedef struct ml_block {
    int64_t size; /* rounded */
    int32_t low, high;
    int32_t record; /* its index in the problem */
    int32_t sections; /* in the first block of a piece: the number of its sections; else 0 */
    int32_t minor; /* position in the minor order of a preorder */
    int32_t reserved;
    int64_t span; /* number of nodes at which it is live */
    int64_t crowd; /* the most bytes live in one of its sections */
} ml_block;

typedef struct ml_budget {
    int64_t nodes; /* visited so far */
    int64_t max_nodes; /* 0 = no limit */
    int64_t slice; /* nodes for each order of candidates at first; 0 = the usual number */
    double end; /* CPU seconds at which to stop; 0 = never */
} ml_budget;

typedef enum {
    ML_SEARCH_FOUND,
    ML_SEARCH_NONE,
    ML_SEARCH_OUT_OF_BUDGET,
    ML_SEARCH_NO_MEMORY
} ml_search_status;

/* Finds offsets for all blocks (by the indices of their records) so that none ends beyond
 * `capacity`. NONE is a proof that there are none. */
ml_search_status ml_search_piece(const ml_block *blocks, int32_t count, int64_t capacity,
                                 ml_budget *budget, int64_t *offsets);

/* A problem while it is searched. */
typedef struct ml_exact {
    ml_problem *problem;
    ml_block *blocks; /* by first node */
    int64_t *offsets; /* by record: in the search */
    int64_t *best; /* by record: in the best plan so far */
    int64_t top, low; /* its bytes; and the least capacity not proved too small */
    ml_budget budget;
    int32_t count;
} ml_exact;

/* Cuts e->problem into pieces; false without memory. The caller frees e->blocks. */
bool ml_exact_open(ml_exact *e);
/* True if there is a plan within `capacity`, that is, one for every piece. */
ml_search_status ml_exact_decide(ml_exact *e, int64_t capacity);
/* Copies the offsets found, by record, and returns the height. The problem's records stay
 * unplaced. */
int64_t ml_exact_take(const ml_exact *e, int64_t *best);

/* True if a search of at most `max_nodes` (> 0) finds a plan within `capacity`: offsets by record.
 * Stores how many search nodes it visited. Does not support fixed records; without memory it finds
 * nothing. */
bool ml_exact_dive(const ml_problem *problem, int64_t capacity, int64_t max_nodes, int64_t *offsets,
                   int64_t *visited);

/* CPU seconds of this process. */
double ml_cpu_seconds(void);

#endif
