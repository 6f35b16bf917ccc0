/* tiles.h -- what instructions on tiles do, in plain C.
 *
 * Each ends the program where a processor would raise a fault, and touches the bytes that it would
 * touch. Tiles without a configuration may not be used. */
#ifndef TILES_H
#define TILES_H

#include <stdbool.h>
#include <stdint.h>

void tile_configure(const void *config);
void tile_zero(int tile);
void tile_load(int tile, const void *from, int64_t stride);
void tile_dot(int sums, int bytes, int weights);
void tile_store(int tile, void *to, int64_t stride);
void tile_release(void);

bool tiles_are_configured(void);
/* The number of dot products of tiles since the program began. */
int64_t tile_dots(void);

#endif
