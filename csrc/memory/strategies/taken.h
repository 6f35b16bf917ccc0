/* taken.h -- the addresses taken in blocks of time.
 *
 * A tree over blocks: each node is for a range of them, the first or second half of its parent's. A
 * node has two sets of addresses, as sorted stretches of which none touch:
 *   whole   taken in all of its blocks, by records that this node was chosen for
 *   any     taken in any of its blocks, by the same records or those of nodes below
 * Where records lie close together these are few stretches, however many records there are. */
#ifndef ML_MEMORY_TAKEN_H
#define ML_MEMORY_TAKEN_H

#include "memory/conflicts.h"

typedef struct ml_stretches {
    ml_stretch *at;
    int32_t count;
    int32_t room;
} ml_stretches;

typedef struct ml_taken {
    ml_stretches *whole; /* by node: 1 is all blocks, leaves + b is block b */
    ml_stretches *any;
    int32_t leaves;
    bool short_of_memory; /* some addresses are missing */
} ml_taken;

/* The blocks in which a record is live, from `first` to `last`. Of a long-lived record, `from` to
 * `to` are those in which it is live throughout: all, or all but the first and the last. */
typedef struct ml_extent {
    int32_t first;
    int32_t last;
    int32_t from; /* from > to: a short-lived record */
    int32_t to;
} ml_extent;

/* A short-lived record is live in so many blocks at most; and the most sets that are listed for a
 * record. */
enum { ML_SHORT_BLOCKS = 32, ML_MOST_SETS = 4 * 32 };

/* False without memory. */
bool ml_taken_begin(ml_taken *tree, int32_t count);
void ml_taken_free(ml_taken *tree);
void ml_taken_clear(ml_taken *tree);
/* Adds the addresses that a record takes. They count as taken in whole blocks only if the record is
 * long-lived. */
void ml_taken_add(ml_taken *tree, ml_extent extent, ml_stretch taken);
/* Lists the sets of addresses that are not free for a record; returns how many. Missing are those
 * of short-lived records in blocks that are not whole ones of this record. */
int32_t ml_taken_list(const ml_taken *tree, ml_extent extent, const ml_stretches **sets);

#endif
