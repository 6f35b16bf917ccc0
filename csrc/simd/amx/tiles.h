/* tiles.h -- decides which products are worth tiles.
 *
 * vpdpbusd is faster at few rows, outputs, or groups of four inputs: the time of a tile depends on
 * its rows, and configuring tiles takes as long as some 20 000 products by vpdpbusd. Tests define
 * lower bounds, so that tiles get everything they can compute. */
#ifndef ML_TILES_AMX_H
#define ML_TILES_AMX_H

#include <stdbool.h>

#include "simd/simd.h"

#ifndef LEAST_ROWS
enum { LEAST_ROWS = 8, LEAST_OUTPUTS = 33, LEAST_GROUPS = 16 };
#endif

static inline bool takes_tiles(const ml_matmul_s8_args *p) {
    return p->k >= 4 && p->rows >= LEAST_ROWS && p->n >= LEAST_OUTPUTS &&
           p->pieces * ml_ceil_div(p->k, 4) >= LEAST_GROUPS;
}

#endif
