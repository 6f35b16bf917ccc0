/* grid.h -- places records among very many others, and looks only at those that are live at once.
 *
 * A placed record that lives briefly has a slot in a grid: rows by the logarithm of its life,
 * columns by its first moment. Time is cut into blocks of about as many beginnings and ends each. A
 * record that is live over many blocks has slots for the parts of its first and its last block; a
 * tree over blocks knows what is taken in between (taken.h). So placing takes about as long in a
 * large problem as in a small one, O(log n + k log k) with k records of short life that are live at
 * once, which the blocks bound. */
#ifndef ML_MEMORY_GRID_H
#define ML_MEMORY_GRID_H

#include "memory/place.h"
#include "memory/strategies/moments.h"

typedef struct ml_grid ml_grid;

/* A grid without placed records; NULL without memory. The problem and its moments are borrowed. */
ml_grid *ml_grid_new(const ml_problem *problem, const ml_moments *moments);
void ml_grid_free(ml_grid *grid);
/* Takes all records out again but the problem's fixed ones. */
void ml_grid_clear(ml_grid *grid);
/* Places record `i` of `size` bytes (> 0, rounded) as ml_layout_place would, at a multiple of
 * `alignment`. Returns its offset, -1 without memory. Adds to `looks` those at placed records. */
int64_t ml_grid_place(ml_grid *grid, int32_t i, int64_t size, int64_t alignment, ml_fit fit,
                      int64_t *looks);

#endif
