/* moments.h -- time counted in moments: the nodes where records begin, numbered in order.
 *
 * The set of live records grows only there, so two records are live at once exactly if they are at
 * some moment, and the busiest node of a record is at one of its moments. */
#ifndef ML_MEMORY_MOMENTS_H
#define ML_MEMORY_MOMENTS_H

#include "memory/strategies/breadth.h"

typedef struct ml_moments {
    ml_breadth *at; /* by moment: its node, and the bytes live there */
    int32_t *first; /* by record: its first and its last moment; of records without bytes 0 and 0 */
    int32_t *last;
    int32_t count; /* moments */
} ml_moments;

/* False without memory. O(n log n). */
bool ml_moments_find(ml_moments *moments, const ml_problem *problem);
void ml_moments_free(ml_moments *moments);
/* The bytes live at the busiest moment. */
int64_t ml_moments_peak(const ml_moments *moments);
/* Fills `bytes`, by record, with those live at the record's busiest moment; 0 for records without
 * bytes. False without memory. O(n log n). */
bool ml_moments_busiest(const ml_moments *moments, const ml_problem *problem, int64_t *bytes);

#endif
