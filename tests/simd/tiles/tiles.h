/* tiles.h -- the operations of csrc/simd/tiles_amx.h in plain C, and thresholds that let the
 * kernels take all that they can, unless the thresholds of the build are wanted. */
#ifndef TILES_H
#define TILES_H

#include <stdbool.h>
#include <stdint.h>

/* Each ends the program where a processor would raise a fault, and touches the bytes that it would
 * touch. Tiles without a configuration may not be used. */
void tile_configure(const void *config);
void tile_zero(int tile);
void tile_load(int tile, const void *from, int64_t stride);
void tile_dot(int sums, int bytes, int weights);
void tile_store(int tile, void *to, int64_t stride);
void tile_release(void);

bool tiles_are_configured(void);
/* Since the program began. */
int64_t tile_dots(void);

#define TILE_SEES(p) ((void)(p))
#define TILE_CONFIGURE(config) tile_configure(config)
#define TILE_ZERO(tile) tile_zero(tile)
#define TILE_LOAD(tile, from, stride) tile_load(tile, from, stride)
#define TILE_DOT(sums, bytes, weights) tile_dot(sums, bytes, weights)
#define TILE_STORE(tile, to, stride) tile_store(tile, to, stride)
#define TILE_RELEASE() tile_release()

#ifndef BUILD_THRESHOLDS
#define LEAST_ROWS 1
#define LEAST_OUTPUTS 1
#define LEAST_GROUPS 1
#endif

#endif
